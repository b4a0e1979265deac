"""Feeding the loop from a stream: the same rows for the same step, and a thread that ends."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.tables.stream import StreamedRows
from directgp.training.feed import StreamFeed
from directgp.training.loop import Settings

ROWS = 2_000


@pytest.fixture
def streamed(tmp_path):
    table = pa.table({"x": np.arange(ROWS) / 4, "y": np.arange(ROWS) / 3})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=130)
    return StreamedRows.open(tmp_path / "t.parquet", buffer_rows=300)


@pytest.fixture
def feed(streamed):
    feed = StreamFeed(streamed, streamed.inputs, streamed.targets)
    yield feed
    feed.stop()


def _rows(feed, batch):
    """Row numbers, from the scaled inputs."""
    x = np.asarray(batch.X)[:, 0] * feed._inputs.scale[0] + feed._inputs.shift[0]
    return np.round(4 * x).astype(int)


def test_chunks_go_through_whole_epochs(feed, streamed):
    settings = Settings(steps=100, batch_size=30)
    chunks = [feed.chunk(settings, first, 10) for first in range(0, 60, 10)]
    assert all(chunk.X.shape == (300, 1) for chunk in chunks)
    seen = np.concatenate([_rows(feed, chunk) for chunk in chunks])
    assert streamed.num_rows == 1800
    assert len(set(seen)) == 1800
    y = np.asarray(chunks[0].y) * streamed.targets.scale[0] + streamed.targets.shift[0]
    np.testing.assert_allclose(3 * y, seen[:300], atol=1e-8)
    np.testing.assert_array_equal(chunks[0].weight, 1.0)


def test_a_step_has_its_rows_whenever_it_is_asked_for(feed):
    settings = Settings(steps=100, batch_size=30)
    first, second, third = (_rows(feed, feed.chunk(settings, step, 10)) for step in (0, 10, 20))
    again = _rows(feed, feed.chunk(settings, 20, 10))  # after a roll-back
    resumed = _rows(feed, feed.chunk(settings, 10, 10))  # as a new process would
    start = _rows(feed, feed.chunk(settings, 0, 10))  # the next candidate for β
    np.testing.assert_array_equal(again, third)
    np.testing.assert_array_equal(resumed, second)
    np.testing.assert_array_equal(start, first)
    other = _rows(feed, feed.chunk(Settings(steps=50, batch_size=30), 0, 10))
    assert (other != first).any()


def test_no_thread_is_left(streamed):
    feed = StreamFeed(streamed, streamed.inputs, streamed.targets)
    feed.chunk(Settings(steps=100, batch_size=30), 0, 10)
    assert any("read-ahead" in thread.name for thread in threading.enumerate())
    feed.stop()
    assert not any("read-ahead" in thread.name for thread in threading.enumerate())


def test_closing_the_rows_ends_the_thread_and_lets_go_of_them(streamed):
    feed = StreamFeed(streamed, streamed.inputs, streamed.targets)
    feed.chunk(Settings(steps=100, batch_size=30), 0, 10)
    thread = feed._ahead._thread
    streamed.close()
    assert not thread.is_alive()
    assert feed._ahead is None
    assert feed._latest is None


def test_what_goes_wrong_in_the_thread_is_raised_in_the_loop(streamed, monkeypatch):
    def broken(*seed):
        raise OSError("the disk is gone")
        yield

    monkeypatch.setattr(type(streamed), "shuffled", lambda self, *seed: broken())
    feed = StreamFeed(streamed, streamed.inputs, streamed.targets)
    with pytest.raises(OSError, match="the disk is gone"):
        feed.chunk(Settings(steps=100, batch_size=30), 0, 10)
    feed.stop()
