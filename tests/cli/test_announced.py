"""What `fit` says before it trains: the model, its rows, and the rows that are held out."""

import pytest

from directgp.cli.console import Terminal
from directgp.cli.read_rows import read_training_table
from directgp.cli.training import announced, check_parts, checked_options
from directgp.errors import DirectGPError

USUAL = {
    "loss": "direct-log", "beta": "auto", "likelihood": "auto", "kernel": "matern52",
    "layers": "auto", "num_inducing": None, "epochs": None, "max_steps": None,
    "time_budget": None, "holdout": None, "missing": "indicator", "seed": 0,
}  # fmt: skip


def said(shop, target, holdout=None, **given) -> str:
    training_table = read_training_table(
        shop.table, Terminal(as_json=False, quiet=True), target=target, task="auto", drop=["id"],
        likelihood="auto", categories=[], missing="indicator", holdout=holdout, seed=0,
    )  # fmt: skip
    options = checked_options(**(USUAL | given))
    return announced(training_table, options, check_parts(training_table, options).likelihood)


@pytest.mark.parametrize(
    ("target", "given", "model"),
    [
        ("price", {}, "loss direct-log: a stack, which is a weighted mixture of exact GPs"),
        ("price", {"loss": "crps"}, "loss direct-crps: a stack"),
        ("sold", {}, "a weighted mixture of logistic regression, an exact GP"),
        ("rooms", {}, "a weighted mixture of log-linear regression, GPs"),
        ("price", {"beta": "1"}, "gaussian likelihood and loss direct-log: one GP"),
        ("price", {"kernel": "rbf"}, "gaussian likelihood and loss direct-log: one GP"),
        ("price", {"loss": "elbo"}, "gaussian likelihood and loss elbo: one GP"),
    ],
)
def test_it_says_whether_a_stack_or_one_gp_is_trained(shop, target, given, model):
    told = said(shop, target, **given)
    assert told.startswith("Training on 135 rows, ") and model in told


def test_it_says_how_many_rows_are_held_out_and_how_to_use_them(shop):
    assert "\n15 rows are held out for the scores" in said(shop, "price")
    assert "--holdout 0" in said(shop, "price")
    assert "held out" not in said(shop, "price", holdout=0.0)


def test_a_loss_of_numbers_is_refused_for_classes(shop):
    with pytest.raises(DirectGPError, match="square loss is for numbers and counts"):
        said(shop, "sold", loss="square")


def test_a_mistyped_loss_gets_a_suggestion(shop):
    with pytest.raises(DirectGPError, match="did you mean 'crps'"):
        said(shop, "price", loss="cprs")


@pytest.mark.parametrize(("columns", "most"), [(None, 100), ("80", 80), ("300", 100)])
def test_tables_in_a_pipe_are_at_most_a_hundred_columns_wide(command, shop, monkeypatch, columns,
                                                             most):  # fmt: skip
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    ended = command("inspect", shop.models["regression"])
    assert ended.code == 0
    assert max(len(line) for line in ended.out.splitlines()) <= most
    assert "Steepness" in ended.out and "kind=" not in ended.out.partition("Steepness")[2]


def test_swapped_arguments_are_noticed(command, shop):
    ended = command("predict", shop.table, shop.models["regression"])
    assert ended.code == 2 and "are the arguments swapped?" in ended.err
