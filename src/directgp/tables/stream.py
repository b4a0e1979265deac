"""Training rows from Parquet larger than memory: sampled, scaled and shuffled."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from directgp.distributed import ALONE, Team
from directgp.tables.arrow_values import plain
from directgp.tables.encode import TableEncoder
from directgp.tables.messages import TableError
from directgp.tables.notes import Note, RunningNotes
from directgp.tables.parquet_source import ParquetSource, Piece
from directgp.tables.scaling import Standardiser
from directgp.tables.shards import Shards, deal
from directgp.tables.stream_scan import Rows, first_pass, second_pass, without
from directgp.tables.target import TargetEncoder, find_target

SAMPLE_ROWS = 50_000
"""Size of the sample to which encoders and inducing points are fitted."""
VALIDATION_ROWS = 10_000
"""Number of rows held out to choose β and the best step, at most a tenth of all."""
BUFFER_ROWS = 1 << 17
"""Size of the shuffle buffer in rows."""


@dataclass(frozen=True)
class StreamedRows:
    """A stream of training rows, with the encoders, scales and samples fitted to them.

    `sample` are random training rows, `held_out` random rows outside the stream, `inputs` and
    `targets` the scales of all training rows, `notes` those of the encoding. `parts` are the shards
    that this process reads, `shard_rows` the number of training rows of every shard.
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
    shards: Shards
    shard_rows: np.ndarray
    _held_rows: np.ndarray = field(repr=False)
    _buffer: int = BUFFER_ROWS
    closing: ExitStack = field(default_factory=ExitStack, repr=False)
    """Resources to close when training ends."""

    @classmethod
    def open(
        cls,
        source: Any,
        target: str | None = None,
        *,
        task: str | None = None,
        drop: Sequence[str] = (),
        categories: Sequence[str] = (),
        missing: str = "indicator",
        max_levels: int = 50,
        seed: int = 0,
        buffer_rows: int = BUFFER_ROWS,
        team: Team = ALONE,
        shards: int | None = None,
        own_files: bool = False,
    ) -> "StreamedRows":
        """Make two passes over the data: a random sample for the encoders, then scales of all rows.

        The processes of a `team` read a part each and exchange their results.

        Args:
            source: Parquet files.
            target: the column to predict; None chooses one.
            task: "regression", "classes" or "counts"; None chooses by the values.
            drop: columns that are not inputs.
            categories: columns of labels that look like numbers.
            missing: the policy for missing inputs.
            max_levels: the maximum number of levels of a category.
            seed: seed of the sample and of the order of rows.
            buffer_rows: size of the shuffle buffer.
            team: the processes that share the work.
            shards: the number of parts of the data; None is one for each process.
            own_files: whether every process has its own files.
        """
        source = team.jointly(
            lambda: source if isinstance(source, ParquetSource) else ParquetSource(source)
        )
        dealt = team.jointly(lambda: deal(source, team, shards, own_files))
        names = {name: pa.nulls(1) for name in source.column_names}
        found = find_target(pa.table(names), target).name
        held_rows, sample_rows = _choose_rows(dealt.num_rows, seed)
        sample_table, held_table, labels = first_pass(dealt, found, held_rows, sample_rows)
        with _naming_the_sample(len(sample_rows)):
            encoder = TableEncoder.fit(
                sample_table,
                target=found,
                drop=drop,
                categories=categories,
                missing=missing,
                max_levels=max_levels,
            )
            # All distinct values, because a rare class may be missing from the sample.
            column = pa.chunked_array([*plain(sample_table[found]).chunks, labels])
            target_encoder = TargetEncoder.fit(column, task, found)
            coding = _Coding(encoder, target_encoder, found)
            sample, held = coding(Piece(0, sample_table)), coding(Piece(0, held_table))
        coding = _Coding(encoder, target_encoder, found)
        scales = second_pass(dealt, coding, (*encoder.sources, found), sample, held_rows)
        return cls(
            source=source,
            encoder=encoder,
            target=target_encoder,
            sample=sample,
            held_out=held,
            inputs=scales[0].standardiser(),
            targets=scales[1].standardiser(targets=True),
            num_rows=dealt.num_rows - len(held_rows),
            notes=coding.notes(team),
            shards=dealt,
            shard_rows=dealt.sizes(held_rows),
            _held_rows=held_rows,
            _buffer=buffer_rows,
        )

    def shuffled(self, *seed: int) -> Iterator[Rows]:
        """Training rows in an endless stream, each epoch in another random order."""
        coding = _Coding(self.encoder, self.target, self.target.name)
        columns = (*self.encoder.sources, self.target.name)
        for epoch in itertools.count():
            rng = np.random.default_rng([*seed, epoch])
            pieces = self.source.shuffled_pieces(columns, rng)
            coded = (without(coding(piece), piece.first, self._held_rows) for piece in pieces)
            yield from _through_buffer(coded, self._buffer, rng)

    def parts(self) -> "list[StreamedRows]":
        """The shards that this process reads, each as a stream."""
        here = self.shards
        return [
            replace(
                self,
                source=source,
                num_rows=int(self.shard_rows[number]),
                _buffer=max(1, self._buffer // len(here.local)),
            )
            for number, source in zip(here.numbers, here.local, strict=True)
        ]

    def close(self) -> None:
        """Release the resources of readers."""
        self.closing.close()


class _Coding:
    """Encodes pieces of the table, and merges the notes on unusual values by column."""

    def __init__(self, encoder: TableEncoder, target: TargetEncoder, name: str):
        self._encoder, self._target, self._name = encoder, target, name
        self._notes = RunningNotes()

    def __call__(self, piece: Piece) -> Rows:
        encoded = self._encoder.encode(piece.table, rows_before=piece.first)
        self._notes.add(encoded.notes)
        y = self._target.encode(piece.table[self._name], rows_before=piece.first)
        return Rows(encoded.X, y)

    def notes(self, team: Team) -> tuple[Note, ...]:
        """The merged notes of all processes."""
        together = RunningNotes()
        for own in team.gather_values([list(note) for note in self._notes]):
            together.add(Note(*words) for words in own)
        return together.in_all()


@contextmanager
def _naming_the_sample(size: int) -> Iterator[None]:
    """Add to errors that row numbers refer to the sample, not to the file."""
    try:
        yield
    except TableError as error:
        where = f" (rows counted in a random sample of {size})" if "row " in str(error) else ""
        raise TableError(f"{error}{where}") from None


def _choose_rows(num_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of held-out rows and of sample rows, sorted and disjoint."""
    held = min(VALIDATION_ROWS, num_rows // 10)
    if held < 1 or num_rows - held < 2:
        raise TableError(f"{num_rows} rows are too few to learn from; give at least 10")
    both = min(held + SAMPLE_ROWS, num_rows)
    rng = np.random.default_rng([seed, num_rows])
    chosen = rng.choice(num_rows, both, replace=False)
    return np.sort(chosen[:held]), np.sort(chosen[held:])


def _through_buffer(pieces: Iterator[Rows], size: int, rng: np.random.Generator) -> Iterator[Rows]:
    """Shuffle by a buffer: whenever it has `size` rows, a random half of them is yielded."""
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
