"""Batches with rows of every shard of a table, where each process reads its own shards."""

from dataclasses import replace
from typing import Literal

import numpy as np

from directgp.distributed.jax_team import lost_peers
from directgp.tables import Standardiser
from directgp.tables.stream import StreamedRows
from directgp.training.chunk import Descent, ShardedRows, run_sharded_chunk
from directgp.training.feed import StreamFeed
from directgp.training.loop import Feed, Settings


def contributions(batch_size: int, shard_rows: np.ndarray) -> np.ndarray:
    """The number of rows of each shard in a batch: in proportion to its size, at least one.

    Args:
        batch_size: the number of rows of a batch.
        shard_rows: the number of rows of each shard.

    >>> contributions(10, np.array([100, 300, 250])).tolist()
    [1, 5, 4]
    """
    shares = batch_size * shard_rows / shard_rows.sum()
    counts = np.floor(shares).astype(np.int64)
    left = max(0, batch_size - int(counts.sum()))
    counts[np.argsort(counts - shares, kind="stable")[:left]] += 1
    return np.maximum(counts, 1)


class ShardFeed(Feed):
    """A `StreamFeed` for every shard of this process."""

    def __init__(self, rows: StreamedRows, inputs: Standardiser, targets: Standardiser):
        self.num_rows = rows.num_rows
        self._shards, self._sizes = rows.shards, rows.shard_rows
        self._feeds = [StreamFeed(part, inputs, targets) for part in rows.parts()]

    def _batches(self, settings: Settings, counts: np.ndarray, first: int, count: int) -> list:
        """X, y and weight of this process's rows: [steps, shards, rows, …]."""
        parts = []
        for feed, number in zip(self._feeds, self._shards.numbers, strict=True):
            own = replace(settings, batch_size=int(counts[number]))
            batch = feed.chunk(own, first, count)
            more = int(counts.max() - counts[number])
            # Padded with copies of a valid row, which has a finite loss, with weight 0.
            parts.append(
                [
                    _filled(np.asarray(batch.X), count, more, "edge"),
                    _filled(np.asarray(batch.y), count, more, "edge"),
                    _filled(np.asarray(batch.weight), count, more, "constant"),
                ]
            )
        return [np.stack(columns, axis=1) for columns in zip(*parts, strict=True)]

    def descend(self, descent: Descent, settings: Settings, first: int, count: int):
        """Run the steps first … first+count−1 with the other processes; see `Feed.descend`."""
        assert settings.batch_size is not None
        counts = contributions(settings.batch_size, self._sizes)
        numbers = np.array(self._shards.numbers, np.int32)
        # The objective divides by all rows of a batch, those of weight 0 included.
        stand_for = (self._sizes * (counts.max() / counts))[numbers]
        rows = ShardedRows(self._batches(settings, counts, first, count), stand_for, numbers)
        with lost_peers():
            return run_sharded_chunk(descent, rows, float(self.num_rows), self._shards.team)


def _filled(column: np.ndarray, steps: int, more: int, mode: Literal["edge", "constant"]):
    """[steps·own …] as [steps, own + more, …]."""
    split = column.reshape(steps, -1, *column.shape[1:])
    return np.pad(split, [(0, 0), (0, more), *[(0, 0)] * (split.ndim - 2)], mode=mode)
