"""Odd tables and damaged files: finite numbers or a `TableError` in one line, nothing else."""

import datetime
import gzip
import io
import string

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from directgp.tables import (
    TableEncoder,
    TableError,
    TargetEncoder,
    as_table,
    find_target,
    guess_task,
    read_table,
    write_table,
)
from directgp.tables.arrow_values import python_values

ROWS = st.shared(st.integers(1, 12), key="rows")
CELLS = {
    "numbers": st.floats(allow_infinity=False) | st.none(),
    "any numbers": st.floats(),
    "whole": st.integers(-(2**62), 2**62) | st.none(),
    "few": st.sampled_from([0, 1, 2]),
    "truth": st.booleans() | st.none(),
    "dates": st.dates(),
    "moments": st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1)),
    "times": st.times(),
    "text": st.text(max_size=8) | st.none(),
    "levels": st.sampled_from(["a", "b", "c", "NA", "", " a "]),
    "numbers as text": st.sampled_from(["1", " 2", "+3", "1e3", "NaN", ".5", "-7.", "x"]),
    "dates as text": st.sampled_from(["2024-01-31", "2023-12-01T05:06:07", "", "31.12.2020"]),
    "nothing": st.none(),
    "bytes": st.binary(max_size=3),
    "lists": st.lists(st.integers(0, 3), max_size=2),
}


@st.composite
def tables(draw):
    rows = draw(ROWS)
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
    names = draw(st.lists(text, min_size=1, max_size=4, unique=True))
    columns = {}
    for name in names:
        cells = CELLS[draw(st.sampled_from(sorted(CELLS)))]
        columns[name] = draw(st.lists(cells, min_size=rows, max_size=rows))
    return columns


def _one_line(error):
    assert "\n" not in str(error)
    assert len(str(error)) < 1500


def test_a_name_with_a_nul_is_refused():
    with pytest.raises(TableError, match=r"NUL character in the name .* rename it") as error:
        TableEncoder.fit({"a\0b": [0.0, 1.0]})
    _one_line(error.value)


@given(tables(), st.sampled_from(["error", "mean", "indicator"]))
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_is_finite_numbers_or_an_error_in_one_line(columns, missing):
    try:
        encoder = TableEncoder.fit(columns, missing=missing)
        encoded = encoder.encode(columns)
    except TableError as error:
        _one_line(error)
        return
    rows = len(next(iter(columns.values())))
    assert encoded.X.shape == (rows, len(encoder.names))
    assert np.isfinite(encoded.X).all()
    again = TableEncoder.from_json(encoder.to_json())
    assert again == encoder
    last = pa.table(columns).slice(rows - 1)
    np.testing.assert_array_equal(again.encode(last).X[0], encoded.X[-1])


@given(tables())
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_any_column_can_be_asked_to_be_the_target(columns):
    name = find_target(columns).name
    column = pa.table(columns)[name]
    try:
        guess = guess_task(column, name)
        encoder = TargetEncoder.fit(column, guess.task, name)
        y = encoder.encode(column)
    except TableError as error:
        _one_line(error)
        return
    assert np.isfinite(y).all()
    assert TargetEncoder.from_json(encoder.to_json()) == encoder
    assert len(encoder.decode(y)) == len(column)


WRITABLE = [k for k in CELLS if k not in ("bytes", "lists", "nothing", "text", "any numbers")]


@pytest.mark.parametrize("kind", WRITABLE)
@given(st.data())
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
def test_a_table_that_went_through_csv_is_coded_the_same(tmp_path, kind, data):
    cells = data.draw(st.lists(CELLS[kind], min_size=4, max_size=12))
    columns = {"kind": cells * 2, "row": np.arange(2 * len(cells)) / 7}
    try:
        encoder = TableEncoder.fit(columns, missing="mean")
    except TableError:
        return
    write_table(tmp_path / "t.csv", columns)
    back = read_table(tmp_path / "t.csv")
    np.testing.assert_allclose(encoder.encode(back).X, encoder.encode(columns).X, rtol=1e-9)
    refitted = TableEncoder.fit(back, missing="mean")
    assert refitted.names == encoder.names


def _seed_files():
    rng = np.random.default_rng(0)
    csv = b"name;size;when\n" + b"".join(
        f'"n{i}";{rng.normal():.3f};2024-01-{i + 1:02d}\n'.encode() for i in range(20)
    )
    table = pa.table(
        {
            "a": rng.normal(size=40),
            "b": pa.array(list(string.ascii_lowercase[:4]) * 10).dictionary_encode(),
            "c": pa.array([None, 1] * 20),
        }
    )
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="snappy", row_group_size=16)
    return {"t.csv": csv, "t.csv.gz": gzip.compress(csv), "t.parquet": buffer.getvalue()}


SEEDS = _seed_files()


@st.composite
def damaged(draw):
    name = draw(st.sampled_from(sorted(SEEDS)))
    content = bytearray(SEEDS[name])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        how = draw(st.sampled_from(["flip", "cut", "insert", "end", "repeat"]))
        length = draw(st.integers(1, 12))
        if how == "flip" and content:
            content[at] ^= draw(st.integers(1, 255))
        elif how == "cut":
            del content[at : at + length]
        elif how == "insert":
            content[at:at] = draw(st.binary(min_size=1, max_size=6) | st.sampled_from([b'"', b";"]))
        elif how == "end":
            del content[at:]
        else:
            content[at:at] = content[at : at + length]
    return name, bytes(content)


@given(damaged())
@settings(max_examples=120, suppress_health_check=list(HealthCheck))
def test_a_damaged_file_is_a_table_or_an_error_in_one_line(tmp_path, file):
    name, content = file
    path = tmp_path / name
    path.write_bytes(content)
    try:
        table = read_table(path)
        encoder = TableEncoder.fit(table, missing="mean")
        assert np.isfinite(encoder.encode(table).X).all()
    except TableError as error:
        _one_line(error)


@given(st.binary(max_size=200), st.sampled_from(["", "PAR1", "\x1f\x8b", "a,b\n"]))
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_rubbish_is_refused(tmp_path, content, start):
    path = tmp_path / "rubbish.csv"
    path.write_bytes(start.encode("latin1") + content)
    try:
        table = read_table(path)
        assert table.num_rows > 0
    except TableError as error:
        _one_line(error)


def test_texts_of_views_can_be_filtered():
    """As polars has them; Arrow itself can neither filter nor take views."""
    views = pa.table({"a": pa.array(["x", None, "y"], pa.string_view()), "b": [1, 2, 3]})
    table = as_table(views)
    assert table.filter(pa.array([True, False, True]))["a"].to_pylist() == ["x", "y"]
    assert as_table({"b": [1, 2]}).schema == pa.schema([("b", pa.int64())])


def test_moments_beyond_the_year_9999_are_shown_as_text():
    far = pa.chunked_array([pa.array([10**18, None, 0], pa.timestamp("us"))])
    assert python_values(far)[:2] == ["<value out of range: 1000000000000000000>", None]
    assert python_values(far.slice(2)) == [datetime.datetime(1970, 1, 1)]
    spans = pa.chunked_array([pa.array([2**62], pa.duration("s"))])
    assert python_values(spans) == [str(2**62)]
