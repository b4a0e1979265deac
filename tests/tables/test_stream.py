"""Streams of rows: every row once an epoch, held-out rows never, in an order the seed decides."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.tables import Standardiser, TableError
from directgp.tables.parquet_source import ParquetSource, is_parquet
from directgp.tables.scaling import RunningScale
from directgp.tables.stream import StreamedRows

ROWS = 5_000


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    return {
        "number": np.arange(ROWS),
        "x": rng.normal(size=ROWS) * 1e-3 + 7.0,
        "kind": np.array(["u", "v", "w"])[rng.integers(3, size=ROWS)],
        "y": rng.normal(size=ROWS),
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory, columns):
    path = tmp_path_factory.mktemp("stream") / "table.parquet"
    parquet.write_table(pa.table(columns), path, row_group_size=170)
    return path


@pytest.fixture(scope="module")
def streamed(path):
    return StreamedRows.open(path, "y", buffer_rows=400)


def _epoch(streamed, *seed):
    """The row numbers (first column) of one epoch, and their y."""
    X, y, count = [], [], 0
    for rows in streamed.shuffled(*seed):
        X.append(rows.X[:, 0])
        y.append(rows.y)
        count += len(rows.y)
        if count >= streamed.num_rows:
            break
    return np.concatenate(X).astype(int), np.concatenate(y)


def test_an_epoch_has_every_training_row_once_and_no_held_out_row(streamed, columns):
    rows, y = _epoch(streamed, 0)
    held = streamed.held_out.X[:, 0].astype(int)
    assert len(held) == ROWS // 10
    assert sorted([*rows, *held]) == list(range(ROWS))
    np.testing.assert_array_equal(y, columns["y"][rows])
    np.testing.assert_array_equal(streamed.held_out.y, columns["y"][held])


def test_the_order_comes_from_the_seed_and_changes_with_the_epoch(streamed):
    first, _ = _epoch(streamed, 3)
    again, _ = _epoch(streamed, 3)
    other, _ = _epoch(streamed, 4)
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.9
    endless = itertools.chain.from_iterable(
        rows.X[:, 0].astype(int).tolist() for rows in streamed.shuffled(3)
    )
    two_epochs = list(itertools.islice(endless, 2 * streamed.num_rows))
    second = two_epochs[streamed.num_rows :]
    assert sorted(second) == sorted(first)
    assert np.mean(first != np.array(second)) > 0.9


def test_rows_far_apart_meet_in_a_batch(streamed):
    rows, _ = _epoch(streamed, 0)
    batches = rows[: len(rows) // 100 * 100].reshape(-1, 100)
    spread = batches.std(axis=1) / rows.std()
    assert np.median(spread) > 0.7  # in file order it would be 0.02
    assert abs(np.corrcoef(rows, np.arange(len(rows)))[0, 1]) < 0.3


def test_scales_are_those_of_all_training_rows(streamed, columns):
    kept = np.setdiff1d(np.arange(ROWS), streamed.held_out.X[:, 0].astype(int))
    X = streamed.encoder.encode({name: v[kept] for name, v in columns.items()}).X
    expected = Standardiser.fit(X)
    np.testing.assert_allclose(streamed.inputs.shift, expected.shift, rtol=1e-12)
    np.testing.assert_allclose(streamed.inputs.scale, expected.scale, rtol=1e-9)
    targets = Standardiser.fit(columns["y"][kept][:, None])
    np.testing.assert_allclose(streamed.targets.scale, targets.scale, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_running_scales_at_any_scale(rng, factor):
    values = factor * (rng.normal(size=(1000, 2)) * [1.0, 1e-6] + [5.0, -3.0])
    values = np.hstack([values, np.full((1000, 1), 4.0)])
    running = RunningScale(values[:50])
    for part in np.array_split(values, [1, 1, 300, 999]):
        running.add(part)
    found, expected = running.standardiser(), Standardiser.fit(values)
    np.testing.assert_allclose(found.shift, expected.shift, rtol=1e-12)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-6)
    assert found.scale[2] == 1.0


def test_a_class_outside_the_sample_is_still_a_class(tmp_path, monkeypatch):
    monkeypatch.setattr("directgp.tables.stream.SAMPLE_ROWS", 50)
    labels = np.array(["a", "b"])[np.arange(3000) % 2].astype(object)
    labels[2999] = "rare"
    table = pa.table({"x": np.arange(3000.0), "label": labels})
    parquet.write_table(table, tmp_path / "t.parquet")
    streamed = StreamedRows.open(tmp_path / "t.parquet")
    assert streamed.target.labels == ("a", "b", "rare")


def test_what_the_sample_does_not_show_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("directgp.tables.stream.SAMPLE_ROWS", 200)
    kind = np.array(["a", "b"])[np.arange(40_000) % 2].astype(object)
    kind[[7, 20_000, 39_999]] = "rare"
    table = pa.table({"kind": kind, "x": np.arange(40_000.0), "y": np.arange(40_000) / 7})
    parquet.write_table(table, tmp_path / "t.parquet")
    [note] = StreamedRows.open(tmp_path / "t.parquet", seed=2).notes
    assert note.column == "kind"
    assert note.rows == 3
    assert "unseen in training" in note.text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x": None}, r"missing in 'x' \(1\)"),
        ({"y": None}, r"target 'y' is missing .* row 39991"),
        ({"x": np.inf}, "'x' has 1 infinite values .*row 39991"),
    ],
)
def test_trouble_outside_the_sample_is_found_before_training(tmp_path, monkeypatch, change, says):
    monkeypatch.setattr("directgp.tables.stream.SAMPLE_ROWS", 200)
    columns = {name: np.arange(40_000) / 7 for name in "xy"}
    columns = {name: values.tolist() for name, values in columns.items()}
    for name, value in change.items():
        columns[name][39_990] = value
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=says):
        StreamedRows.open(tmp_path / "t.parquet", missing="error")


def test_several_files_are_one_table(tmp_path, columns):
    table = pa.table(columns)
    for part, first in enumerate((0, 1000, 1500)):
        length = (1000, 500, ROWS - 1500)[part]
        parquet.write_table(table.slice(first, length), tmp_path / f"part-{part}.parquet")
    (tmp_path / "notes.txt").write_text("not a table")
    for given in (tmp_path, sorted(tmp_path.glob("*.parquet"))):
        assert is_parquet(given)
        source = ParquetSource(given)
        assert source.num_rows == ROWS
        found = [(first, piece["number"].to_pylist()) for first, piece in source.pieces()]
        assert all(numbers[0] == first for first, numbers in found)
        assert list(itertools.chain(*(numbers for _, numbers in found))) == list(range(ROWS))


def test_sources_that_cannot_be_read(tmp_path, path):
    with pytest.raises(TableError, match="there is no file"):
        ParquetSource(tmp_path / "absent.parquet")
    with pytest.raises(TableError, match="no Parquet file in"):
        ParquetSource(tmp_path)
    with pytest.raises(TableError, match="name a Parquet file"):
        ParquetSource([])
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert not is_parquet(tmp_path / "t.csv")
    with pytest.raises(TableError, match="is not Parquet, which streams need"):
        ParquetSource(tmp_path / "t.csv")
    (tmp_path / "cut.parquet").write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TableError, match="cannot be used as a table"):
        ParquetSource(tmp_path / "cut.parquet")
    parquet.write_table(pa.table({"other": [1]}), tmp_path / "other.parquet")
    with pytest.raises(TableError, match="other columns than"):
        ParquetSource([path, tmp_path / "other.parquet"])
    parquet.write_table(pa.table({"x": [1.0], "y": [2.0]}), tmp_path / "one.parquet")
    with pytest.raises(TableError, match="1 rows are too few"):
        StreamedRows.open(tmp_path / "one.parquet")
    with pytest.raises(TableError, match="no column 'z'"):
        StreamedRows.open(path, "z")


def test_messages_say_when_rows_are_those_of_the_sample(tmp_path):
    table = pa.table({"x": np.arange(300) * 1.0, "y": ["1", "2", "oops"] * 100})
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"'oops' .*\(rows counted in a random sample of 270\)"):
        StreamedRows.open(tmp_path / "t.parquet")
