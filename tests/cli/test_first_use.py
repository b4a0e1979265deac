"""A user's first hour: row numbers, advice, names, and a model file used from Python."""

import re

import numpy as np
import pytest

import directgp as dg
from directgp.cli.console import Terminal
from directgp.cli.read_rows import read_known, read_training_table
from directgp.persistence import ModelFileError
from directgp.tables import read_table, write_table

SHORT = ["--max-steps", "30", "--beta", "1", "--num-inducing", "10", "--layers", "1"]


@pytest.fixture
def gaps(tmp_path):
    """80 rows whose x is their number in the file; every fourth has no target."""
    number = np.arange(1, 81)
    target = [None if n % 4 == 0 else float(n % 7) + 0.5 for n in number]
    path = tmp_path / "gaps.csv"
    write_table(path, {"x": number + 0.25, "y": target, "z": [None, *target[1:]]})
    return path


CHOICES = {"task": "auto", "likelihood": "auto", "missing": "error", "holdout": 0.2, "seed": 3}


@pytest.mark.parametrize("target", ["y", ["y", "z"]], ids=["one target", "two targets"])
def test_rows_know_their_number_in_the_file(gaps, target):
    terminal = Terminal(as_json=False, quiet=True)
    drop = ["z"] if target == "y" else []
    made = read_training_table(gaps, terminal, target=target, drop=drop, **CHOICES)
    assert made.aside is not None and 0 < len(made.aside) < len(made.train)
    for rows in (made.train, made.aside, read_known(gaps, made.encoder, made.targets, terminal)):
        np.testing.assert_array_equal(rows.numbers, rows.table["x"].to_numpy() - 0.25)
        own = rows.with_output(len(made.targets) - 1)
        np.testing.assert_array_equal(own.numbers, own.table["x"].to_numpy() - 0.25)
    assert made.aside.names == [f"row {n}" for n in made.aside.numbers]


def _shown(page, column):
    """(row name, value of a column) of the last table with that heading."""
    found = page[: page.rindex("</table>")].rpartition("<table>")[2]
    heads = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", found)
    lines = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', found)
    place = heads.index(column) - 1
    return [(name, re.findall(r"<td>(.*?)</td>", cells)[place]) for name, cells in lines]


def test_reports_number_rows_as_the_file_does(command, shop, tmp_path):
    whole = read_table(shop.table)
    keep = np.arange(whole.num_rows)[::-1]  # not the order of training
    table = tmp_path / "turned.csv"
    write_table(table, whole.take(keep))
    sizes = [f"{size:g}" for size in whole["size"].to_numpy()[keep]]
    report, cost = tmp_path / "r.html", tmp_path / "cost.toml"
    cost.write_text('kind = "binary"\nfalse_positive = 1\nfalse_negative = 20\npositive = "yes"\n')
    pages = []
    evaluate = ["evaluate", shop.models["regression"], table, "--report", report]
    decide = ["decide", shop.models["classes"], table, "--cost", cost, "--report", report]
    for arguments in (evaluate, [*decide, "-o", tmp_path / "a.csv"]):
        assert command(*arguments).code == 0
        pages.append(report.read_text("utf-8"))
    for page in pages:
        assert "numbered as in the table" in page
        shown = _shown(page, "size")
        assert shown
        for name, size in shown:
            assert float(size) == float(sizes[int(name.removeprefix("row ")) - 1])


def test_missing_values_in_new_rows_are_advised_without_an_option_predict_lacks(
    command, shop, tmp_path
):
    table = read_table(shop.table).to_pydict()
    table["size"][2] = None
    new = tmp_path / "new.csv"
    write_table(new, table)
    fit = ["fit", shop.table, "--target", "price", "-o", tmp_path / "m.dgp", *SHORT]
    assert command(*fit, "--missing", "error").code == 0
    ended = command("predict", tmp_path / "m.dgp", new)
    assert ended.code == 2
    assert ended.err.rstrip().endswith(
        "missing in 'size' (1), of 150 rows; the model was trained without missing values: fill "
        "them, or fit again with --missing indicator or median"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--task", "regression"], "holds text, which needs the task classes; leave out --task"),
        (
            ["--likelihood", "gaussian"],
            "holds text, which needs the task classes; leave out --task",
        ),
        (["--likelihood", "bernoulli"], "has 3 classes; use --likelihood categorical"),
    ],
    ids=["task", "likelihood", "two classes"],
)
def test_a_text_target_is_classes(command, tmp_path, options, told):
    table = tmp_path / "t.csv"
    write_table(table, {"x": np.arange(60) / 7, "class": ["a", "b", "c"] * 20})
    ended = command("fit", table, "--target", "class", "-o", tmp_path / "m.dgp", *options)
    assert ended.code == 2 and f"error: target 'class' {told}" in ended.err


def test_a_column_of_codes_can_be_made_a_category(command, tmp_path):
    table = tmp_path / "t.csv"
    fit = ["fit", table, "--target", "y", "-o", tmp_path / "m.dgp", *SHORT]
    # With a letter among them codes are a category anyway.
    for codes, option in ((["1", "2", "A"], []), (["1", "2", "3"], ["--category", "code"])):
        columns = {"code": codes * 20, "x": np.arange(60) / 7, "y": np.arange(60) % 7 + 0.5}
        write_table(table, columns)
        assert command(*fit, *option).code == 0
        names = dg.load_table_model(tmp_path / "m.dgp").encoder.names
        assert [name.split("=")[0] for name in names] == ["code", "code", "x"]
    assert command(*fit).code == 0
    assert list(dg.load_table_model(tmp_path / "m.dgp").encoder.names) == ["code", "x"]
    refused = command(*fit, "--category", "y")
    assert refused.code == 2 and "--task classes makes it a category" in refused.err


def test_a_table_model_is_used_from_python_and_each_target_is_named(command, tmp_path):
    import pandas
    import polars

    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 60)
    columns = {"x": x, "kind": ["a", "b"] * 30, "low": np.sin(x) + 0.01, "high": np.cos(x) + 5}
    table, one, two = (tmp_path / name for name in ("t.csv", "one.dgp", "two.dgp"))
    write_table(table, columns)
    assert command("fit", table, "--target", "low", "--drop", "high", "-o", one, *SHORT).code == 0
    both = ["--target", "low", "--target", "high"]
    ended = command("fit", table, *both, "-o", two, *SHORT)
    assert ended.code == 0
    for name in ("low", "high"):
        assert ended.err.count(f"Task of '{name}': regression, because") == 1

    model = dg.load_table_model(one)
    arrow = read_table(table)
    expected = model.fitted.predict(model.encoder.encode(arrow).X)
    frames = {"pandas": pandas.DataFrame(columns), "polars": polars.DataFrame(columns)}
    for given in (table, str(table), arrow, *frames.values()):
        found = model.predict_table(given)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    assert list(model.hyperparameters()["lengthscale"]) == list(model.encoder.names)
    both = dg.load_table_model(str(two))
    assert len(both.hyperparameters()["noise_std"]) == 2
    low, high = both.predict_table(frames["pandas"])
    assert low.mean.shape == high.mean.shape == (60,)
    assert high.mean.min() > low.mean.max()


def test_only_files_of_table_models_are_read(tmp_path):
    with pytest.raises(ModelFileError, match="there is no file"):
        dg.load_table_model(tmp_path / "none.dgp")
