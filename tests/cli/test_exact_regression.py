"""``directgp fit --inference exact``: from a table to a model file, inspected and asked."""

import json

import numpy as np
import pytest

import directgp as dg
from directgp.cli.models import TableModel
from directgp.tables import read_table, write_table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("exact") / "t.csv", np.random.default_rng(0)
    size = rng.normal(size=60).round(3)
    price = (np.sin(2 * size) + 0.1 * rng.normal(size=60)).round(4)
    big = np.where(price > 0, "yes", "no").tolist()
    write_table(path, {"size": size, "big": big, "price": price})
    return path


def fitted(command, table, *more):
    target = ["--target", "price", "--drop", "big"]
    return command("fit", table, *target, "-o", table.parent / "m.dgp", *more)


def test_from_fit_to_predictions(command, table):
    ended = fitted(
        command, table, "--inference", "exact", "--holdout", "0", "--json", "--loss", "elbo"
    )
    assert ended.code == 0, ended.err
    facts = json.loads(ended.out)
    assert facts["inference"] == "exact" and facts["optimism"] >= 1
    model = TableModel.load(table.parent / "m.dgp")
    X = model.encoder.encode(read_table(table)).X
    y = read_table(table)["price"].to_numpy()
    expected = dg.fit(X, y, model=dg.Exact(), loss="elbo")
    np.testing.assert_array_equal(model.fitted.predict(X).mean, expected.predict(X).mean)
    assert facts["log_evidence"] == expected.log_evidence
    shown = command("inspect", table.parent / "m.dgp").out
    assert "exact GP, hyperparameters by evidence" in shown and "90 % intervals contain" in shown
    page = table.parent / "r.html"
    assert command("evaluate", table.parent / "m.dgp", table, "--report", page).code == 0
    assert page.read_text("utf-8").count("<html") == 1
    out = table.parent / "p.csv"
    assert command("predict", table.parent / "m.dgp", table, "-o", out).code == 0
    assert len(read_table(out)) == 60


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--num-inducing", "9"], "--num-inducing 9 has no effect on an exact GP"),
        (["--layers", "2"], "--layers 2 has no effect on an exact GP"),
        (["--kernel", "rbf"], "--kernel 'rbf' has no effect on an exact GP"),
        (["--beta", "0.5"], "beta has no effect on an exact GP"),
        (["--epochs", "5"], "epochs=5 has no effect on an exact GP"),
        (["--loss", "direct-robust-beta"], "an exact GP is fitted for loss='elbo'"),
        (["--divergence", "renyi:alpha=0.4"], "divergence has no effect on an exact GP"),
        (["--test-weight", "size"], "--test-weight has no effect with --inference exact"),
        (["--task", "counts"], "counts"),
        (["--likelihood", "student-t"], "--inference exact is for one target"),
    ],
)
def test_options_without_effect_are_refused(command, table, more, words):
    ended = fitted(command, table, "--inference", "exact", *more)
    assert ended.code != 0 and words in ended.err.replace("\n", " ")


def test_rows_of_most_steps(command, table):
    assert fitted(command, table, "--inference", "exact", "--learn-from", "20").code == 0
    ended = fitted(command, table, "--learn-from", "20", "--layers", "1")
    assert ended.code != 0 and "--learn-from 20 has no effect on a Sparse model" in ended.err
