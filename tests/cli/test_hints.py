"""Hints: one line where training itself shows what to try next, silence otherwise."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from directgp.cli.hints import longer_training, outliers
from directgp.cli.models import TableModel
from directgp.cli.training import checked_options
from directgp.tables import read_table, write_table


def _options(**given):
    usual = {
        "loss": "direct-log", "beta": "auto", "likelihood": "auto", "kernel": "rbf", "layers": "1",
        "num_inducing": None, "epochs": None, "max_steps": None, "time_budget": None,
        "holdout": 0.1, "missing": "error", "seed": 0,
    }  # fmt: skip
    return checked_options(**(usual | given))


@pytest.fixture
def trained(shop):
    """A model whose held-out loss fell to the end, or not at all."""
    fitted = TableModel.load(shop.models["regression"]).fitted
    held_out = np.random.default_rng(0).normal(size=100)

    def make(loss):
        return replace(fitted, history={"validation": list(loss)}, held_out=held_out, seconds=10.0)

    return SimpleNamespace(short=make(np.linspace(2, 0.5, 20)), long=make(np.full(20, 0.5)))


@pytest.mark.parametrize(
    ("given", "epochs", "more"),
    [
        ({}, None, "--max-steps 4000"),
        ({"max_steps": 50}, None, "--max-steps 100"),
        ({}, 62.5, "--epochs 125"),
        ({"epochs": 5}, 62.5, "--epochs 10"),
        ({"time_budget": 12.0}, 62.5, "--time-budget 24"),
        ({"time_budget": 100.0}, 62.5, "--epochs 125"),  # time was not what ended it
    ],
)
def test_the_option_that_trains_longer_is_named(trained, given, epochs, more):
    said = longer_training(trained.short, _options(**given), epochs)
    assert said == [f"the held-out loss was still improving when training ended: {more} may help"]
    assert not longer_training(trained.long, _options(**given), epochs)


def test_outliers_are_told_only_to_those_whom_they_hurt():
    y = np.r_[np.random.default_rng(0).normal(size=200), 1e4]
    columns = [("good", y[:-1]), ("bad", y)]
    (said,) = outliers(columns, "gaussian", _options())
    assert said.startswith("1 of 201 values of 'bad' lies more than 10 robust deviations from")
    assert said.endswith("try directgp fit with --robust gamma or --likelihood student-t")
    assert not outliers(columns, "student-t", _options())
    assert not outliers(columns, "negative-binomial", _options())
    assert not outliers(columns, "gaussian", _options(robust="gamma"))
    assert not outliers(columns, "gaussian", _options(loss="direct-crps"))
    assert not outliers(columns, "gaussian", _options(cost={"kind": "square"}))


def test_hints_follow_the_model_from_fit_to_its_reports(command, shop, quick, tmp_path):
    rows = read_table(shop.table).to_pydict()
    for row in range(0, 150, 15):  # some are kept aside
        rows["price"][row] = -1e9
    table, model, report = tmp_path / "t.csv", tmp_path / "m.dgp", tmp_path / "r.html"
    write_table(table, rows)
    fit = ["fit", table, "-o", model, "--report", report, *quick]
    ended = command(*fit)
    assert ended.code == 0, ended.err
    (line,) = [line for line in ended.out.splitlines() if line.startswith("Hint: ")]
    assert "of 135 values of 'price' lie more than 10 robust deviations" in line
    (hint,) = TableModel.load(model).facts["hints"]
    assert line.startswith(f"Hint: {hint}"[: len(line)])
    assert "Hint:" in report.read_text("utf-8")
    assert command("evaluate", model, table, "--report", report).code == 0
    assert "Hint:" in report.read_text("utf-8")
    assert json.loads(command(*fit, "--likelihood", "student-t", "--json").out)["hints"] == []


@pytest.mark.parametrize("task", ["regression", "classes", "counts"])
def test_ordinary_tables_give_no_hint(shop, task):
    assert TableModel.load(shop.models[task]).facts["hints"] == []
