"""Deep, robust and multi-target models from the command line."""

import json

import numpy as np
import pytest

from directgp.cli.console import Terminal
from directgp.cli.models import TableModel
from directgp.cli.read_rows import read_known
from directgp.metrics import joint_nll
from directgp.tables import read_table, write_table

QUICK = ["--beta", "1", "--max-steps", "40", "--num-inducing", "15"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two numbers of which the second is missing in some rows, and two labels."""
    rng = np.random.default_rng(0)
    size = rng.uniform(30, 200, 120).round(1)
    rent = [None if i % 7 == 0 else v for i, v in enumerate(3.3 * size + rng.normal(size=120))]
    path = tmp_path_factory.mktemp("special") / "houses.csv"
    columns = {
        "size": size,
        "kind": rng.choice(["flat", "house"], 120).tolist(),
        "sold": np.where(size > 100, "yes", "no").tolist(),
        "large": np.where(size + 20 * rng.normal(size=120) > 90, "yes", "no").tolist(),
        "rent": rent,
        "price": 2000.5 * size + 5000 * rng.normal(size=120),
    }
    write_table(path, columns)
    return path


def test_two_targets_from_fit_to_report(command, table, tmp_path):
    model, report = tmp_path / "two.dgp", tmp_path / "two.html"
    named = ["--target", "price", "--target", "rent", "--drop", "sold", "--drop", "large"]
    ended = command("fit", table, *named, *QUICK, "--layers", "2", "-o", model, "--json")
    assert ended.code == 0, ended.err
    facts = json.loads(ended.out)
    assert facts["target"] == "price, rent"
    assert set(facts["held_out"]["targets"]) == {"price", "rent"}
    assert command("predict", model, table, "-o", tmp_path / "p.csv").code == 0
    columns = read_table(tmp_path / "p.csv")
    assert columns.column_names[:2] == ["price_mean", "price_std"]
    assert "rent_q0.95" in columns.column_names and columns.num_rows == 120
    loaded = TableModel.load(model)
    X = loaded.encoder.encode(read_table(table)).X
    np.testing.assert_allclose(columns["rent_mean"].to_numpy(), loaded.predict(X)[1].mean)
    judged = json.loads(command("evaluate", model, table, "--report", report, "--json").out)
    assert judged["targets"]["rent"]["rows"] < judged["targets"]["price"]["rows"] == 12
    aside = read_known(table, loaded.encoder, loaded.targets, Terminal(as_json=True, quiet=True))
    aside = aside.take(loaded.unseen(aside, "scores").rows)
    together = joint_nll(loaded.fitted.predict_joint(aside.X), aside.y)
    assert judged["joint"]["joint_nll"]["mean"] == pytest.approx(together)
    assert "All targets of a row jointly: log loss" in command("evaluate", model, table).out
    page = report.read_text("utf-8")
    assert "Predicting 2 targets" in page and "mean absolute slope" in page
    shown = json.loads(command("inspect", model, "--json").out)
    assert shown["targets"] == ["price", "rent"] and shown["options"]["layers"] == 2
    assert next(iter(shown["relevance"])) == "size"
    assert "joined by sigma points" in command("inspect", model).out


@pytest.mark.slow
def test_two_labels_made_robust(command, table, tmp_path):
    model = tmp_path / "labels.dgp"
    named = ["--target", "sold", "--target", "large", "--drop", "price", "--drop", "rent"]
    ended = command("fit", table, *named, *QUICK, "--robust", "gamma", "-o", model, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["robust"] == "gamma"
    out = json.loads(command("predict", model, table, "--json").out)["predictions"]
    assert set(out["sold_predicted"]) == {"no", "yes"} and "large_p(yes)" in out
    assert "robust (gamma)" in command("inspect", model).out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-t price -t sold", "'price' is regression, 'sold' is classes; fit them one by one"),
        ("-t price -t price", "named twice"),
        (
            "-t price --layers 1 --width 3",
            "--width 3 has no effect on a Sparse model; give",
        ),
        ("-t price --layers 2 --width 0", "--width must be a whole number ≥ 1, got 0"),
        ("-t price --deep chain", "unknown deep 'chain'; choose one of: samples, sigma-points"),
        ("-t price --features cnn", "unknown features 'cnn'; choose one of: mlp"),
        ("-t price --robust huber", "choose one of: beta, gamma"),
        ("-t price --robust-power 1.2", "needs a robust loss"),
        ("-t price --robust gamma --robust-power 1", "must be > 1"),
        ("-t price --robust gamma --loss direct-crps", "replaces the log loss"),
    ],
)
def test_what_does_not_go_together_is_said_before_any_work(command, table, tmp_path, options, said):
    ended = command("fit", table, *options.split(), "-o", tmp_path / "m.dgp", "--quiet")
    assert ended.code == 2 and ended.out == ""
    assert said in ended.err and ended.err.count("\n") == 1
    assert not list(tmp_path.iterdir())
