"""The two passes over a table before training: a sample, then the scales of all rows."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from directgp.distributed import Team
from directgp.tables.arrow_values import plain
from directgp.tables.messages import as_table_errors
from directgp.tables.parquet_source import Piece
from directgp.tables.scaling import RunningScale
from directgp.tables.shards import Shards

_MOST_LABELS = 1000


class Rows(NamedTuple):
    """Encoded rows in the user's units."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]


def first_pass(
    shards: Shards, target: str, held_rows: np.ndarray, sample_rows: np.ndarray
) -> tuple[pa.Table, pa.Table, pa.Array]:
    """Read the sample, the held-out rows and (if they are few) the distinct values of the target.

    Args:
        shards: the parts of the data that this process reads.
        target: the column to predict.
        held_rows: the numbers of the held-out rows.
        sample_rows: the numbers of the rows of the sample.
    """
    kept: tuple[list[pa.Table], list[pa.Table]] = ([], [])
    places: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    seen: dict[Any, None] = {}

    def read() -> None:
        for first, table in itertools.chain(*(source.pieces() for source in shards.local)):
            for rows, parts, found in zip((sample_rows, held_rows), kept, places, strict=True):
                begin, end = np.searchsorted(rows, (first, first + table.num_rows))
                if end > begin:
                    parts.append(table.take(pa.array(rows[begin:end] - first)))
                    found.append(rows[begin:end])
            if len(seen) <= _MOST_LABELS:
                seen.update(dict.fromkeys(plain(table[target]).drop_null().unique().to_pylist()))

    shards.team.jointly(read)
    sample, held = (
        _everyones(shards, parts, found) for parts, found in zip(kept, places, strict=True)
    )
    return sample, held, _labels(shards.team, seen, plain(sample[target]).type)


def _everyones(shards: Shards, parts: list[pa.Table], places: list[np.ndarray]) -> pa.Table:
    """The rows of all processes, in the order of the table."""
    source, team = shards.local[0], shards.team
    with as_table_errors(source):
        own = pa.concat_tables(parts or [source.schema.empty_table()])
        tables = [table for table in team.gather_tables(own) if table.num_rows]
        numbers = np.concatenate(
            team.gather_arrays(np.concatenate([np.zeros(0, np.int64), *places]))
        )
        return pa.concat_tables(tables).take(pa.array(np.argsort(numbers))).combine_chunks()


def _labels(team: Team, seen: dict[Any, None], kind: pa.DataType) -> pa.Array:
    few = len(seen) <= _MOST_LABELS
    parts = team.gather_tables(pa.table({"seen": pa.array(seen if few else [], kind)}))
    if not all(team.gather_values(few)):
        return pa.array([], kind)
    found = pa.concat_tables(parts)["seen"].unique()
    return found if len(found) <= _MOST_LABELS else pa.array([], kind)


def second_pass(
    shards: Shards,
    coding: Callable[[Piece], Rows],
    columns: Sequence[str],
    sample: Rows,
    held_rows: np.ndarray,
) -> tuple[RunningScale, RunningScale]:
    """Compute the scales of inputs and target over all training rows.

    Args:
        shards: the parts of the data that this process reads.
        coding: encodes a piece of the table.
        columns: the columns to read.
        sample: encoded rows, for the units of the sums.
        held_rows: the numbers of the held-out rows.
    """

    def read() -> np.ndarray:
        found = []
        for source in shards.local:
            scale = RunningScale(_inputs_and_target(sample))
            for piece in source.pieces(columns):
                scale.add(_inputs_and_target(without(coding(piece), piece.first, held_rows)))
            found.append([np.full_like(scale.mean, scale.count), scale.mean, scale.squares])
        return np.array(found)

    width = sample.X.shape[1]
    scales = RunningScale(sample.X), RunningScale(sample.y[:, None])
    for own in shards.team.gather_arrays(shards.team.jointly(read)):
        for counts, mean, squares in own:
            scales[0].merge(int(counts[0]), mean[:width], squares[:width])
            scales[1].merge(int(counts[0]), mean[width:], squares[width:])
    return scales


def _inputs_and_target(rows: Rows) -> np.ndarray:
    return np.concatenate([rows.X, rows.y[:, None]], axis=1)


def without(rows: Rows, first: int, held: np.ndarray) -> Rows:
    """Remove held-out rows.

    Args:
        rows: consecutive rows.
        first: the number of the first of them.
        held: the sorted numbers of held-out rows.
    """
    begin, end = np.searchsorted(held, (first, first + len(rows.y)))
    if begin == end:
        return rows
    kept = np.ones(len(rows.y), dtype=bool)
    kept[held[begin:end] - first] = False
    return Rows(rows.X[kept], rows.y[kept])
