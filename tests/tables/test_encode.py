"""Tables as numbers: learned on training rows, the same for all later rows, nothing in silence."""

import datetime
import json
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from directgp.tables import TableEncoder, TableError

ROWS = 24
START = datetime.datetime(2024, 1, 1)
TABLE = {
    "size": np.arange(ROWS) * 1.5,
    "open": [True, False] * (ROWS // 2),
    "when": [START + datetime.timedelta(hours=61 * i) for i in range(ROWS)],
    "city": ["b", "a", "b", "c"] * (ROWS // 4),
    "text": [str(i * i) for i in range(ROWS)],
}


def test_kinds_names_and_values():
    encoder = TableEncoder.fit(TABLE)
    assert encoder.names == (
        "size",
        "open",
        *(f"when {part}" for part in ("years", "year sin", "year cos", "week sin", "week cos")),
        "when day sin",
        "when day cos",
        "city=a",
        "city=c",
        "text",
    )
    encoded = encoder.encode(TABLE)
    assert encoded.X.shape == (ROWS, len(encoder.names))
    assert encoded.notes == ()
    column = dict(zip(encoded.names, encoded.X.T, strict=True))
    np.testing.assert_array_equal(column["size"], TABLE["size"])
    np.testing.assert_array_equal(column["open"], [1.0, 0.0] * (ROWS // 2))
    np.testing.assert_array_equal(column["city=a"], [0.0, 1.0, 0.0, 0.0] * (ROWS // 4))
    np.testing.assert_array_equal(column["city=c"], [0.0, 0.0, 0.0, 1.0] * (ROWS // 4))
    np.testing.assert_array_equal(column["text"], np.arange(ROWS) ** 2.0)


def test_moments_by_hand():
    moments = [datetime.datetime(2024, 1, 1), datetime.datetime(2025, 7, 2, 18)]  # Mon, Wed
    encoder = TableEncoder.fit({"t": moments})
    values = dict(zip(encoder.names, encoder.encode({"t": moments}).X[1], strict=True))
    place = (181 + 1 + 0.75 - 0) / 365
    assert values["t years"] == pytest.approx(2025 + place)
    assert values["t year sin"] == pytest.approx(np.sin(2 * np.pi * place))
    assert values["t year cos"] == pytest.approx(np.cos(2 * np.pi * place))
    assert values["t week sin"] == pytest.approx(np.sin(2 * np.pi * 2 / 7))
    assert values["t day cos"] == pytest.approx(np.cos(2 * np.pi * 0.75), abs=1e-12)


@pytest.mark.parametrize(
    ("moments", "parts"),
    [
        ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 8)], ["years"]),
        ([datetime.date(2024, 1, 1), datetime.date(2024, 1, 9)], ["years", "week sin", "week cos"]),
        ([datetime.time(1), datetime.time(2)], ["day sin", "day cos"]),
        (["2024-01-01", "2024-01-08"], ["years"]),
        (["10:00", "23:59:59.25"], ["day sin", "day cos"]),
        (["2024-01-01T10:00:00Z", "2024-01-08T10:00:00Z"], ["years"]),
        (["31.12.2024", "24.12.2024"], ["years"]),
        (["12/31/2024", "12/24/2024"], ["years"]),
        (["31/12/2024", "24/12/2024"], ["years"]),
    ],
)
def test_only_the_parts_that_vary_are_used(moments, parts):
    encoder = TableEncoder.fit({"t": moments * 4})
    assert list(encoder.names) == [f"t {part}" for part in parts]
    assert np.isfinite(encoder.encode({"t": moments}).X).all()


def test_all_ways_to_write_a_day_give_one_number():
    ways = ["2024-12-31", "31.12.2024", "12/31/2024", "31/12/2024", "2024/12/31"]
    others = ["2023-05-30", "30.05.2023", "05/30/2023", "30/05/2023", "2023/05/30"]
    coded = [
        TableEncoder.fit({"t": pair}).encode({"t": pair}).X
        for pair in zip(ways, others, strict=True)
    ]
    for X in coded[1:]:
        np.testing.assert_allclose(X, coded[0], rtol=1e-15)


def test_moments_with_a_time_zone_count_in_utc():
    naive = pa.array([0, 90_000_000_000], pa.timestamp("us"))
    aware = pa.array([0, 90_000_000_000], pa.timestamp("us", "Europe/Berlin"))
    encoder = TableEncoder.fit(pa.table({"t": naive}))
    X = [encoder.encode(pa.table({"t": column})).X for column in (naive, aware)]
    np.testing.assert_array_equal(X[0], X[1])


def test_unseen_levels_are_the_base_and_reported_with_counts():
    encoder = TableEncoder.fit(TABLE)
    later = {name: values[:4] for name, values in TABLE.items()} | {"city": ["z", "c", "z", "q"]}
    encoded = encoder.encode(later)
    base = encoded.names.index("city=a")
    np.testing.assert_array_equal(encoded.X[:, base : base + 2], [[0, 0], [0, 1], [0, 0], [0, 0]])
    [note] = encoded.notes
    assert note.column == "city"
    assert "taken as 'b': 'z' (2 rows), 'q' (1 rows)" in note.text


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ([5.0] * ROWS, "5 in all rows"),
        (["x"] * ROWS, "'x' in all rows"),
        ([True] * ROWS, "1 in all rows"),
        ([None] * ROWS, "no value is known"),
        (["NA", ""] * (ROWS // 2), "no value is known"),
        ([START] * ROWS, "the same date"),
        ([f"name {i}" for i in range(ROWS)], "names, not categories"),
        ([f"level {i // 2}" for i in range(ROWS)], "12 levels, more than 10; group the rare"),
    ],
)
def test_columns_that_say_nothing_are_dropped_with_a_reason(column, why):
    encoder = TableEncoder.fit({"odd": column, "x": range(ROWS)}, max_levels=10)
    assert encoder.names == ("x",)
    [note] = [note for note in encoder.report if note.column == "odd"]
    assert note.text.startswith("dropped: ")
    assert why in note.text
    assert encoder.encode({"x": [1.0], "odd": [None]}).notes == ()
    with pytest.raises(TableError, match="no column can be used"):
        TableEncoder.fit({"odd": column}, max_levels=10)


def test_row_numbers_are_no_input_but_other_whole_numbers_are():
    table = {"Unnamed: 0": range(9), "id": range(9), "rooms": range(9), "index": [1, 1, 2] * 3}
    encoder = TableEncoder.fit(table)
    assert encoder.names == ("rooms", "index")


def test_numbers_may_be_declared_labels():
    encoder = TableEncoder.fit({"zip": [1, 2, 2, 1, 2], "x": range(5)}, categories=["zip"])
    assert encoder.names == ("zip=1", "x")
    np.testing.assert_array_equal(encoder.encode({"zip": [1.0, 2.0], "x": [0, 0]}).X[:, 0], [1, 0])


def test_a_category_may_hold_numbers_among_other_labels():
    codes = {"code": ["1", "2", "A", "1", "2", "1"], "x": range(6)}
    for options in ({}, {"categories": ["code"]}):
        assert TableEncoder.fit(codes, **options).names == ("code=2", "code=A", "x")
    unknown = TableEncoder.fit(codes | {"code": [None, ""] * 3}, categories=["code"])
    assert "code: dropped: no value is known" in map(str, unknown.report)


def test_a_few_strays_among_numbers_are_missing_and_named():
    stray = TABLE | {"text": [str(i) for i in range(20)] + ["?", "n.a.", "4", "5"]}
    encoder = TableEncoder.fit(stray)
    assert encoder.names[-2:] == ("text", "text missing")
    assert "text: number, other text counts as missing, 2 missing values filled with" in "\n".join(
        map(str, encoder.report)
    )
    encoded = encoder.encode(stray, rows_before=100)
    np.testing.assert_array_equal(encoded.X[19:22, -2:], [[19, 0], [8.5, 1], [8.5, 1]])
    assert "text counts as missing, as in training (first: row 121, '?')" in encoded.notes[0].text
    with pytest.raises(TableError, match=r"row 121 has .* correct or empty them$"):
        TableEncoder.fit(TABLE).encode(stray, rows_before=100)
    assert "text" not in TableEncoder.fit(stray, drop=["text"]).names


def test_text_that_is_half_one_thing_and_half_another_is_a_category():
    half = {"t": ["9:22", "2024-01-01", "9:22", "2024-01-01"] * 3, "x": range(12)}
    assert TableEncoder.fit(half).names == ("t=9:22", "x")
    unique = {"t": [f"9:{i}" for i in range(10, 16)] + [f"2024-01-0{i}" for i in range(1, 7)]}
    encoder = TableEncoder.fit(unique | {"x": range(12)})
    assert encoder.names == ("x",)
    assert "t: dropped: 12 different texts in 12 rows" in map(
        lambda note: str(note).removesuffix(": names, not categories"), encoder.report
    )


def test_one_digit_hours_are_times():
    encoder = TableEncoder.fit({"t": ["9:22", "10:45", "9:00:30"]})
    assert encoder.names == ("t day sin", "t day cos")
    place = (9 + 22 / 60) / 24
    assert encoder.encode({"t": ["9:22"]}).X[0, 0] == pytest.approx(np.sin(2 * np.pi * place))


def test_a_few_stray_dates_are_missing_and_ambiguous_ones_are_read_as_month_and_day():
    days = [f"2024-01-{day:02d}" for day in range(1, 30)]
    encoder = TableEncoder.fit({"t": [*days, "soon"]})
    assert encoder.names[-1] == "t missing"
    assert encoder.encode({"t": ["soon", "2024-01-02"]}).X[:, -1].tolist() == [1, 0]
    guessed = TableEncoder.fit({"t": ["01/02/2024", "03/04/2024"]})
    assert "read as month/day, may be day/month" in guessed.report[0].text
    march = TableEncoder.fit({"t": ["2024-01-02", "2024-03-04"]})
    np.testing.assert_allclose(
        guessed.encode({"t": ["03/04/2024"]}).X, march.encode({"t": ["2024-03-04"]}).X
    )
    encoder = TableEncoder.fit({"t": ["2024-01-01", "2024-02-01"]})
    with pytest.raises(TableError, match="must hold dates"):
        encoder.encode({"t": [1, 2]})
    with pytest.raises(TableError, match="'t' holds dates or times, but row 2 has 'soon'"):
        encoder.encode({"t": ["2024-01-01", "soon"]})


def test_rows_in_messages_are_those_of_the_file():
    numbers = np.array([3, 6, 7])
    with pytest.raises(TableError, match=r"infinite values \(first: row 6\)"):
        TableEncoder.fit({"x": [1.0, np.inf, 2.0]}, numbers=numbers)
    encoder = TableEncoder.fit({"x": [1.0, 2.0, 3.0]})
    with pytest.raises(TableError, match="row 7 has"):
        encoder.encode({"x": ["1", "2", "oops"]}, numbers=numbers)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ([1.0, np.inf], r"1 infinite values \(first: row 2\)"),
        (["1e999", "3"], "infinite"),
        ([[1], [2]], "holds list"),
        ([{"a": 1}, {"a": 2}], "holds struct"),
        ([b"\x00", b"\x01"], "holds binary"),
    ],
)
def test_what_cannot_be_numbers_is_named(column, says):
    with pytest.raises(TableError, match=says):
        TableEncoder.fit({"x": column})


GAPS = {
    "size": [1.0, np.nan, None, 3.0, 8.0, 4.0],
    "city": ["a", "b", "NA", "a", " ", "a"],
    "open": [True, None, False, True, False, True],
    "when": [START, None, START + datetime.timedelta(days=1), START, START, START],
    "full": [0.0, 1, 2, 3, 4, 5],
}


def test_missing_values_are_an_error_that_names_columns_counts_and_the_way_out():
    with pytest.raises(TableError, match=r"'size' \(2\), 'city' \(2\), 'open' \(1\)") as caught:
        TableEncoder.fit(GAPS, missing="error")
    assert "missing='indicator'" in str(caught.value)
    encoder = TableEncoder.fit({"x": [1.0, 2.0]}, missing="error")
    with pytest.raises(TableError, match=r"missing in 'x' \(1\), of 2 rows; .*fit again"):
        encoder.encode({"x": [None, 1.0]})


def test_missing_values_become_the_mean():
    encoder = TableEncoder.fit(GAPS, missing="mean")
    X = dict(zip(encoder.names, encoder.encode(GAPS).X.T, strict=True))
    np.testing.assert_allclose(X["size"], [1, 4, 4, 3, 8, 4])
    np.testing.assert_allclose(X["city=b"], [0, 1, 0.25, 0, 0.25, 0])
    np.testing.assert_allclose(X["open"], [1, 0.6, 0, 1, 0, 1])
    assert X["when years"][1] == pytest.approx(np.mean(np.delete(X["when years"], 1)))
    assert not any("missing" in name for name in encoder.names)


def test_missing_values_become_the_median_and_get_a_column_of_their_own():
    encoder = TableEncoder.fit(GAPS)
    assert encoder.missing == "indicator"
    # "when" is missing where "open" is: one column for both.
    assert encoder.names[-3:] == tuple(f"{n} missing" for n in ("size", "city", "open"))
    X = dict(zip(encoder.names, encoder.encode(GAPS).X.T, strict=True))
    np.testing.assert_array_equal(X["size missing"], [0, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(X["size"], [1, 3.5, 3.5, 3, 8, 4])
    np.testing.assert_array_equal(X["city=b"], [0, 1, 0, 0, 0, 0])
    later = {name: values[:1] for name, values in GAPS.items()} | {"full": [None]}
    encoded = encoder.encode(later)
    assert encoded.X[0, encoded.names.index("full")] == 2.5
    assert [str(note) for note in encoded.notes] == [
        "full: 1 missing values filled with the median"
    ]


def test_columns_at_prediction():
    encoder = TableEncoder.fit(TABLE | {"y": range(ROWS)}, target="y", drop=["open"])
    shuffled = {name: TABLE[name][:3] for name in reversed(TABLE)}
    encoded = encoder.encode(shuffled | {"y": [1, 2, 3], "more": [1, 2, 3]})
    np.testing.assert_array_equal(encoded.X[:, 0], TABLE["size"][:3])
    assert [note.column for note in encoded.notes] == ["more"]
    with pytest.raises(TableError, match=r"lacks 'size', 'city'.*did you mean 'sizes'"):
        encoder.encode({"sizes": [1.0], "when": [START], "text": ["1"]})


def test_one_row_is_coded_as_among_others():
    encoder = TableEncoder.fit(TABLE)
    whole = encoder.encode(TABLE).X
    for row in (0, 7):
        alone = encoder.encode({name: values[row : row + 1] for name, values in TABLE.items()})
        np.testing.assert_array_equal(alone.X[0], whole[row])


@pytest.mark.parametrize("missing", ["mean", "median", "indicator"])
def test_json_keeps_everything(missing):
    encoder = TableEncoder.fit(GAPS | {"const": [1] * 6}, missing=missing, drop=["open"])
    again = TableEncoder.from_json(json.dumps(json.loads(encoder.to_json())))
    assert again == encoder
    np.testing.assert_array_equal(again.encode(GAPS).X, encoder.encode(GAPS).X)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", '{"version": 1}', '{"version": 1, "columns": [{"kind": "spline"}]}'],
)
def test_foreign_json_is_refused(text):
    with pytest.raises(TableError, match="not the JSON of a table encoder"):
        TableEncoder.from_json(text)


def test_json_of_the_first_version_is_read():
    encoder = TableEncoder.fit(GAPS, missing="mean")
    facts = json.loads(encoder.to_json()) | {"version": 1}
    facts["means"] = facts.pop("fills")
    for column in facts["columns"]:
        column.pop("strays", None), column.pop("guessed", None)
    assert TableEncoder.from_json(json.dumps(facts)) == encoder


def test_a_constant_that_is_missing_in_some_rows_says_where_it_is_known():
    pool = {"pool": ["yes", None, "yes", ""], "x": range(4)}
    encoder = TableEncoder.fit(pool)
    assert encoder.names == ("pool known", "x")
    assert encoder.encode(pool).X[:, 0].tolist() == [1, 0, 1, 0]
    assert TableEncoder.fit(pool, missing="mean").names == ("x",)


def test_json_of_a_later_version_is_refused():
    facts = json.loads(TableEncoder.fit(TABLE).to_json()) | {"version": 3}
    with pytest.raises(TableError, match="update directgp"):
        TableEncoder.from_json(json.dumps(facts))


def test_options_are_checked():
    with pytest.raises(ValueError, match="missing must be one of indicator, median, mean, error"):
        TableEncoder.fit(TABLE, missing="drop")
    for option in ({"target": "sizes"}, {"drop": ["sizes"]}, {"categories": ["sizes"]}):
        with pytest.raises(TableError, match="did you mean 'size'"):
            TableEncoder.fit(TABLE, **option)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_all_libraries_give_the_same_numbers(frame):
    expected = TableEncoder.fit(TABLE).encode(TABLE).X
    encoder = TableEncoder.fit(frame(TABLE))
    np.testing.assert_array_equal(encoder.encode(frame(TABLE)).X, expected)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"c": pd.Categorical([1, 2, 2, None]), "x": [1, 2, 3, 4]}),
        pl.DataFrame({"c": pl.Series(["1", "2", "2", None], dtype=pl.Categorical), "x": range(4)}),
    ],
)
def test_categories_of_frames_stay_categories(frame):
    encoder = TableEncoder.fit(frame, missing="mean")
    assert encoder.names == ("c=1", "x")
    np.testing.assert_allclose(encoder.encode(frame).X[:, 0], [1, 0, 0, 1 / 3])


def test_other_number_types_are_numbers():
    table = pa.table(
        {
            "decimal": pa.array(["1.25", "2.50"]).cast(pa.decimal128(5, 2)),
            "half": pa.array([np.float16(0.5), np.float16(1.5)]),
            "large": pa.array([2**63, 2**64 - 1], pa.uint64()),
            "duration": pa.array([1_500, 3_000], pa.duration("ms")),
        }
    )
    X = TableEncoder.fit(table).encode(table).X
    np.testing.assert_array_equal(X[0], [1.25, 0.5, 2.0**63, 1.5])


def test_truth_may_be_spelt_in_any_case():
    spelt = ["True", "FALSE", "false", "TRUE", "true", "False"]
    encoder = TableEncoder.fit({"t": spelt})
    np.testing.assert_array_equal(encoder.encode({"t": spelt}).X[:, 0], [1, 0, 0, 1, 1, 0])
    with pytest.raises(TableError, match="row 2 has"):
        encoder.encode({"t": ["true", "perhaps"]})
    with pytest.raises(TableError, match="row 1 has 2; give true or false"):
        encoder.encode({"t": [2]})


def test_long_texts_of_many_kinds_are_quickly_seen_to_be_no_dates():
    names = [f"customer {i} of {i * 7919 % 100_003}" for i in range(100_000)]
    began = time.process_time()
    encoder = TableEncoder.fit({"name": names, "x": range(100_000)})
    assert encoder.names == ("x",)
    assert time.process_time() - began < 5


def test_the_mean_of_the_largest_numbers_is_finite_and_that_of_others_is_exact():
    table = {"huge": [1.7e308, 1.7e308, 1.6e308, None], "plain": [0.1, 0.7, None, 1e-3]}
    encoder = TableEncoder.fit(table, missing="mean")
    (huge,), (plain,) = encoder.fills
    assert huge == pytest.approx(1.7e308 - 1e307 / 3)
    assert plain == np.mean([0.1, 0.7, 1e-3])


@pytest.mark.parametrize(
    ("table", "missing", "says"),
    [
        (
            {"kind": ["a", "a", "b", "b", "a"], "kind=b": [1, 2, 3, 5, 4]},
            "error",
            "columns 'kind' and 'kind=b' are both encoded as 'kind=b'; rename one",
        ),
        (
            {"x": [1.0, None, 3.0], "x missing": [2.0, 5.0, 4.0]},
            "indicator",
            "columns 'x missing' and 'x' are both encoded as 'x missing'; rename one",
        ),
    ],
    ids=["level", "indicator"],
)
def test_inputs_of_one_name_are_refused_before_any_training(table, missing, says):
    with pytest.raises(TableError, match=says):
        TableEncoder.fit(table, missing=missing)
    renamed = {name.replace("=", " is ").replace(" missing", "?"): v for name, v in table.items()}
    names = TableEncoder.fit(renamed, missing=missing).names
    assert len(set(names)) == len(names) > 1
