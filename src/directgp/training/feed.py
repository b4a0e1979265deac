"""Training rows that are not in memory: chunks that a thread reads ahead."""

from collections.abc import Iterator
from queue import Full, Queue
from threading import Event, Thread
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from directgp.objective import Batch
from directgp.parameters import on_device
from directgp.tables import Standardiser
from directgp.tables.stream import Rows, StreamedRows
from directgp.training.chunk import Descent, run_chunk
from directgp.training.loop import Feed, Settings

_AHEAD = 2
_PATIENCE = 0.1


class StreamFeed(Feed):
    """Scaled chunks of streamed rows, in an order that depends only on the seed and length of a
    run.

    So a resumed run continues with the same rows, a chunk that is repeated after a roll-back has
    the same rows, and candidates for β are compared on the same rows.
    """

    def __init__(self, rows: StreamedRows, inputs: Standardiser, targets: Standardiser):
        self.num_rows = rows.num_rows
        self._rows, self._inputs, self._targets = rows, inputs, targets
        self._run: tuple[int, ...] = ()
        self._next = -1
        self._latest: tuple[int, Batch] | None = None
        self._ahead: _ReadAhead | None = None
        rows.closing.callback(self.stop)

    def chunk(self, settings: Settings, first: int, count: int) -> Batch:
        """The rows of steps first … first+count−1, one batch after another.

        Args:
            settings: of the run.
            first: the number of the first step.
            count: of steps.
        """
        assert settings.batch_size is not None
        run = (settings.seed, settings.steps, settings.batch_size, count)
        if run == self._run and self._latest is not None and self._latest[0] == first:
            return self._latest[1]
        if run != self._run or first != self._next or self._ahead is None:
            self.stop()
            chunks = self._chunks(settings, count * settings.batch_size, first)
            self._ahead = _ReadAhead(chunks)
        batch = Batch(*(jax.device_put(column) for column in self._ahead.take()))
        self._run, self._next, self._latest = run, first + count, (first, batch)
        return batch

    def descend(self, descent: Descent, settings: Settings, first: int, count: int):
        """Run the steps first … first+count−1; see `Feed.descend`."""
        data = self.chunk(settings, first, count)
        order = jnp.arange(data.y.shape[0], dtype=jnp.int32).reshape(count, -1)
        num_rows = on_device(self.num_rows, np.float64)
        return run_chunk(descent, data, order, num_rows, thorough=settings.thorough)

    def stop(self) -> None:
        """Stop the reading thread and free its rows."""
        if self._ahead is not None:
            self._ahead.stop()
        self._ahead = self._latest = None

    def _chunks(self, settings: Settings, size: int, first: int) -> Iterator[tuple]:
        """An infinite sequence of chunks of `size` rows, from step `first` on."""
        assert settings.batch_size is not None
        to_skip = first * settings.batch_size
        waiting: list[Rows] = []
        ready = 0
        for X, y in self._rows.shuffled(settings.seed, settings.steps):
            skipped = min(to_skip, len(y))
            to_skip -= skipped
            waiting.append(Rows(X[skipped:], y[skipped:]))
            ready += len(y) - skipped
            while ready >= size:
                taken, waiting = _split(waiting, size)
                ready -= size
                scaled_y = self._targets.forward(taken.y[:, None])[:, 0]
                yield self._inputs.forward_inputs(taken.X), scaled_y, np.ones(size)


def _split(rows: list[Rows], size: int) -> tuple[Rows, list[Rows]]:
    X, y = (np.concatenate(part) for part in zip(*rows, strict=True))
    return Rows(X[:size], y[:size]), [Rows(X[size:], y[size:])]


class _ReadAhead:
    """An iterator in a thread, at most two items ahead of the consumer."""

    def __init__(self, items: Iterator[Any]):
        self._items, self._stopped = items, Event()
        self._queue: Queue[tuple[Any, BaseException | None]] = Queue(_AHEAD)
        self._thread = Thread(target=self._work, name="directgp-read-ahead", daemon=True)
        self._thread.start()

    def take(self) -> Any:
        """The next item; errors of the thread are raised here."""
        item, error = self._queue.get()
        if error is not None:
            raise error
        return item

    def stop(self) -> None:
        """Stop the thread and wait until it has closed the file."""
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            for item in self._items:
                if not self._put((item, None)):
                    return
        except BaseException as error:
            self._put((None, error))

    def _put(self, item: tuple[Any, BaseException | None]) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=_PATIENCE)
                return True
            except Full:
                continue
        return False
