"""Rows larger than memory: sampled, scaled and shuffled on their way from Parquet to training."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from directgp.data.cells import plain
from directgp.data.encode import Note, TableEncoder
from directgp.data.messages import TableError
from directgp.data.parquet_source import ParquetSource, Piece
from directgp.data.scaling import RunningScale, Standardiser
from directgp.data.target import TargetEncoder, find_target

SAMPLE_ROWS = 50_000
"""Rows on which encoders and inducing points are learned."""
VALIDATION_ROWS = 10_000
"""Rows held out to choose β and the best moment of training, at most a tenth of all."""
BUFFER_ROWS = 1 << 17
"""Rows among which the next are drawn at random."""
_MOST_LABELS = 1000


class Rows(NamedTuple):
    """Encoded rows in the user's units."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]


@dataclass(frozen=True)
class StreamedRows:
    """Training rows that are never all in memory, with what had to be learned of them first.

    `sample` are random training rows, `held_out` random rows that no shuffle ever yields,
    `inputs` and `targets` the scales of all training rows, `notes` what encoding met.
    """

    source: ParquetSource
    encoder: TableEncoder
    target: TargetEncoder
    sample: Rows
    held_out: Rows
    inputs: Standardiser
    targets: Standardiser
    num_rows: int
    notes: tuple[Note, ...]
    _held_rows: np.ndarray = field(repr=False)
    _buffer: int = BUFFER_ROWS
    closing: ExitStack = field(default_factory=ExitStack, repr=False)
    """What is to be let go of when training ends."""

    @classmethod
    def open(
        cls,
        source: Any,
        target: str | None = None,
        *,
        task: str | None = None,
        drop: Sequence[str] = (),
        categories: Sequence[str] = (),
        missing: str = "error",
        max_levels: int = 50,
        seed: int = 0,
        buffer_rows: int = BUFFER_ROWS,
    ) -> "StreamedRows":
        """Two passes over the file: a random sample for the encoders, then scales of all rows."""
        source = source if isinstance(source, ParquetSource) else ParquetSource(source)
        names = {name: pa.nulls(1) for name in source.column_names}
        found = find_target(pa.table(names), target).name
        held_rows, sample_rows = _choose_rows(source.num_rows, seed)
        sample_table, held_table, labels = _first_pass(source, found, held_rows, sample_rows)
        with _naming_the_sample(len(sample_rows)):
            encoder = TableEncoder.fit(
                sample_table,
                target=found,
                drop=drop,
                categories=categories,
                missing=missing,
                max_levels=max_levels,
            )
            # A rare class may be missing from the sample: the encoder is shown all values seen.
            column = pa.chunked_array([*plain(sample_table[found]).chunks, labels])
            target_encoder = TargetEncoder.fit(column, task, found)
            coding = _Coding(encoder, target_encoder, found)
            sample, held = coding(Piece(0, sample_table)), coding(Piece(0, held_table))
        scales = RunningScale(sample.X), RunningScale(sample.y[:, None])
        coding = _Coding(encoder, target_encoder, found)
        columns = (*encoder.sources, found)
        for piece in source.pieces(columns):
            rows = _without(coding(piece), piece.first, held_rows)
            scales[0].add(rows.X)
            scales[1].add(rows.y[:, None])
        return cls(
            source=source,
            encoder=encoder,
            target=target_encoder,
            sample=sample,
            held_out=held,
            inputs=scales[0].standardiser(),
            targets=scales[1].standardiser(),
            num_rows=source.num_rows - len(held_rows),
            notes=coding.notes(),
            _held_rows=held_rows,
            _buffer=buffer_rows,
        )

    def shuffled(self, *seed: int) -> Iterator[Rows]:
        """Training rows without end, every row once an epoch, each epoch in an order of its own."""
        coding = _Coding(self.encoder, self.target, self.target.name)
        columns = (*self.encoder.sources, self.target.name)
        for epoch in itertools.count():
            rng = np.random.default_rng([*seed, epoch])
            pieces = self.source.shuffled_pieces(columns, rng)
            coded = (_without(coding(piece), piece.first, self._held_rows) for piece in pieces)
            yield from _through_buffer(coded, self._buffer, rng)

    def close(self) -> None:
        """End whatever still reads ahead."""
        self.closing.close()


class _Coding:
    """Pieces of the table as numbers; what is out of the ordinary is counted by column."""

    def __init__(self, encoder: TableEncoder, target: TargetEncoder, name: str):
        self._encoder, self._target, self._name = encoder, target, name
        self._found: dict[str, Note] = {}

    def __call__(self, piece: Piece) -> Rows:
        encoded = self._encoder.encode(piece.table, rows_before=piece.first)
        for note in encoded.notes:
            before = self._found.get(note.column, note._replace(rows=0))
            self._found[note.column] = before._replace(rows=before.rows + note.rows)
        y = self._target.encode(piece.table[self._name], rows_before=piece.first)
        return Rows(encoded.X, y)

    def notes(self) -> tuple[Note, ...]:
        """What was met so far: the words of the first piece, the rows of all."""
        return tuple(
            note._replace(text=f"{note.text}; {note.rows} rows in all")
            for note in self._found.values()
        )


@contextmanager
def _naming_the_sample(size: int) -> Iterator[None]:
    """Row numbers in messages are the file's, except where only the sample is looked at."""
    try:
        yield
    except TableError as error:
        where = f" (rows counted in a random sample of {size})" if "row " in str(error) else ""
        raise TableError(f"{error}{where}") from None


def _choose_rows(num_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of held-out rows and of sample rows, sorted; the two have none in common."""
    held = min(VALIDATION_ROWS, num_rows // 10)
    if held < 1 or num_rows - held < 2:
        raise TableError(f"{num_rows} rows are too few to learn from; give at least 10")
    both = min(held + SAMPLE_ROWS, num_rows)
    rng = np.random.default_rng([seed, num_rows])
    chosen = rng.choice(num_rows, both, replace=False)
    return np.sort(chosen[:held]), np.sort(chosen[held:])


def _first_pass(
    source: ParquetSource, target: str, held_rows: np.ndarray, sample_rows: np.ndarray
) -> tuple[pa.Table, pa.Table, pa.Array]:
    """The sample, the held-out rows and (if they are few) all values the target has."""
    kept: tuple[list[pa.Table], list[pa.Table]] = ([], [])
    seen: dict[Any, None] = {}
    for first, table in source.pieces():
        for rows, parts in zip((sample_rows, held_rows), kept, strict=True):
            begin, end = np.searchsorted(rows, (first, first + table.num_rows))
            if end > begin:
                parts.append(table.take(pa.array(rows[begin:end] - first)))
        if len(seen) <= _MOST_LABELS:
            seen.update(dict.fromkeys(plain(table[target]).drop_null().unique().to_pylist()))
    sample, held = (pa.concat_tables(parts).combine_chunks() for parts in kept)
    kind = plain(sample[target]).type
    return sample, held, pa.array(seen if len(seen) <= _MOST_LABELS else [], kind)


def _without(rows: Rows, first: int, held: np.ndarray) -> Rows:
    begin, end = np.searchsorted(held, (first, first + len(rows.y)))
    if begin == end:
        return rows
    kept = np.ones(len(rows.y), dtype=bool)
    kept[held[begin:end] - first] = False
    return Rows(rows.X[kept], rows.y[kept])


def _through_buffer(pieces: Iterator[Rows], size: int, rng: np.random.Generator) -> Iterator[Rows]:
    """The same rows in random order: of `size` rows, a random half goes on, the rest waits."""
    waiting: list[Rows] = []

    def mixed() -> Rows:
        X, y = (np.concatenate(part) for part in zip(*waiting, strict=True))
        order = rng.permutation(len(y))
        return Rows(X[order], y[order])

    for piece in pieces:
        waiting.append(piece)
        if sum(len(rows.y) for rows in waiting) >= size:
            rows, half = mixed(), size // 2
            waiting = [Rows(rows.X[:half], rows.y[:half])]
            yield Rows(rows.X[half:], rows.y[half:])
    if waiting:
        yield mixed()
