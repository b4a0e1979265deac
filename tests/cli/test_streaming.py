"""Streams refuse or do what they are asked: never silently something else."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import directgp as dg
from directgp.cli import streaming
from directgp.tables import TableError, read_table, write_table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three classes and a number, as Parquet."""
    path = tmp_path_factory.mktemp("streams") / "t.parquet"
    x = np.arange(90) / 7
    write_table(path, {"x": x, "class": ["a", "b", "c"] * 30, "y": np.sin(x)})
    return path


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("-t class --likelihood bernoulli", "target 'class' has 3 classes; use --likelihood cat"),
        ("-t y --holdout 0.2", "leave out --holdout, or add --in-memory"),
        ("-t y --holdout 0.1", "leave out --holdout"),
        ("-t y --max-steps 2000", "a stream takes --epochs or --time-budget"),
        ("-t y --report r.html", "run directgp evaluate on rows that were not in DATA"),
        ("-t y -t x", "a single target"),
        ("-t y --robust gamma", "--robust does not work with a stream yet"),
    ],
)
def test_what_a_stream_cannot_do_is_refused(command, table, tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    ended = command("fit", table, "--stream", *options.split(), "-o", "m.dgp", "--quiet")
    assert ended.code == 2 and told in ended.err and ended.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--layers 2", "--layers does not work with a stream yet; leave it out\n"),
        ("--holdout 0.2", "leave out --holdout\n"),
        ("--in-memory", "is a folder, which can only be streamed; leave out --in-memory\n"),
        ("--in-memory --processes 2", "several processes read DATA as a stream; leave out"),
        ("--in-memory --coordinator a:1", "several processes read DATA as a stream; leave out"),
    ],
)
def test_a_folder_is_not_sent_to_memory_and_back(command, table, tmp_path, options, told):
    ended = command(
        "fit", table.parent, "-t", "y", *options.split(), "-o", tmp_path / "m.dgp", "-q"
    )
    assert ended.code == 2 and told in ended.err and ended.err.count("\n") == 1


def test_the_library_says_the_same_of_classes(table):
    with pytest.raises(ValueError, match="target 'class' has 3 classes; use --likelihood categor"):
        dg.fit_stream(table, "class", likelihood="bernoulli")


def test_a_streamed_prediction_tells_of_unseen_levels(command, shop, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "LARGE", 1)
    rows = read_table(shop.table).to_pydict()
    rows["kind"][10], rows["kind"][120] = "castle", "tent"
    new, out = tmp_path / "new.parquet", tmp_path / "p.parquet"
    parquet.write_table(pa.table(rows), new, row_group_size=50)
    ended = command("predict", shop.models["regression"], new, "-o", out, "--keep", "kind")
    assert ended.code == 0 and read_table(out)["kind"].to_pylist() == rows["kind"]
    (line,) = [line for line in ended.err.splitlines() if "unseen" in line]
    assert line.startswith("Column kind: levels unseen in training") and "'castle'" in line
    assert line.endswith("2 rows in all.")


def test_a_kept_column_that_clashes_is_refused_by_a_stream_as_in_memory(
    command, shop, tmp_path, monkeypatch
):
    new = tmp_path / "new.parquet"
    write_table(new, read_table(shop.table).append_column("mean", [np.arange(150)]))
    said = []
    for large in (1, 1 << 30):
        monkeypatch.setattr(streaming, "LARGE", large)
        out = tmp_path / "p.parquet"
        ended = command("predict", shop.models["counts"], new, "-o", out, "--keep", "mean")
        assert ended.code == 2 and not out.exists()
        said.append(ended.err.splitlines()[-1])
    assert said[0] == said[1]
    assert said[0].startswith("error: column 'mean' is also a column of the output; rename")


def test_the_library_refuses_the_clash_too(shop, tmp_path):
    model = dg.load_table_model(shop.models["classes"])
    rows = read_table(shop.table).append_column("predicted", [np.arange(150)])
    with pytest.raises(TableError, match="'predicted' is also a column of the output"):
        dg.predict_stream(
            model.fitted, model.encoder, rows, tmp_path / "p.csv",
            target=model.targets[0], keep=["predicted"],
        )  # fmt: skip
    assert not list(tmp_path.iterdir())
