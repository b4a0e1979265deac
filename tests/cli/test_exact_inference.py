"""``directgp fit --inference``: from a table to a model file, inspected, asked and decided by."""

import json

import numpy as np
import pytest

from directgp.cli.models import TableModel
from directgp.decisions import BinaryCost, decide_for_rows
from directgp.tables import read_table, write_table

COST = 'kind = "binary"\nfalse_positive = 1\nfalse_negative = 6\npositive = "yes"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table to learn from, one to decide, and a cost."""
    made, rng = tmp_path_factory.mktemp("inference"), np.random.default_rng(0)
    for name, count in (("old", 24), ("new", 9)):
        size = rng.normal(size=count).round(3)
        sold = np.where(size + 0.5 * rng.normal(size=count) > 0.4, "yes", "no").tolist()
        often = rng.uniform(1, 3, count).round(2)
        write_table(made / f"{name}.csv", {"size": size, "often": often, "sold": sold})
    (made / "cost.toml").write_text(COST, encoding="utf-8")
    return made


def _fit(command, folder, *more):
    named = ["--target", "sold", "--drop", "often", "--max-steps", "2"]
    return command("fit", folder / "old.csv", *named, "-o", folder / "m.dgp", *more)


def test_loss_em_for_test_rows_from_fit_to_decisions(command, folder):
    cost, new, model = folder / "cost.toml", folder / "new.csv", folder / "m.dgp"
    aware = ["--inference", "linearised-loss-em", "--cost", cost]
    ended = _fit(command, folder, *aware, "--test-inputs", new, "--test-weight", "often", "--json")
    assert ended.code == 0, ended.err
    facts = json.loads(ended.out)
    assert facts["inference"] == "linearised-loss-em" and facts["converged"]
    shown = command("inspect", model).out
    assert "linearised-loss-em" in shown and "weighted by often" in shown
    loaded = TableModel.load(model)
    assert len(loaded.fitted.calibration.decisions) == 9
    assert command("decide", model, new, "-o", folder / "a.csv", "--transductive").code == 0
    X = loaded.encoder.encode(read_table(new)).X
    labels = ["no", "yes"]
    expected = decide_for_rows(
        loaded.fitted, X, BinaryCost(1, 6, positive="yes"), labels=labels
    ).named
    assert read_table(folder / "a.csv")["action"].to_pylist() == expected
    assert command("predict", model, new, "-o", folder / "p.csv").code == 0
    p = read_table(folder / "p.csv")["p(yes)"].to_numpy()
    np.testing.assert_allclose(p, loaded.predict(X)[0].probabilities[:, 1])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--inference", "vb"], "unknown inference 'vb'"),
        (["--inference", "loss-em"], "add --cost cost.toml"),
        (["--inference", "ep", "--beta", "2"], "--beta has no effect with --inference"),
        (["--inference", "ep", "--loss", "elbo"], "--loss has no effect with --inference"),
        (["--inference", "ep", "--layers", "2"], "--layers has no effect with --inference"),
        (["--inference", "ep", "--test-weight", "size"], "--test-weight has no effect"),
        (["--test-inputs", "new.csv"], "add --inference loss-em"),
        (["--inference", "loss-em", "--cost", "COST", "--test-weight", "size"], "add --drop size"),
        (["--inference", "loss-em", "--cost", "COST", "--test-weight", "no"], "no column 'no'"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(command, folder, options, complaint):
    given = [folder / "cost.toml" if option == "COST" else option for option in options]
    ended = _fit(command, folder, *given)
    assert ended.code == 2 and complaint in ended.err.replace("\n", " ")
