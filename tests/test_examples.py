"""The scripts of examples/ run, print what they return, and are all shown in the documentation."""

import runpy
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((REPOSITORY / "examples").glob("*.py"))


def _run(name: str, steps: int):
    """Call `main` of a script with few steps."""
    return runpy.run_path(str(REPOSITORY / "examples" / f"{name}.py"))["main"](steps=steps)


def test_there_are_examples_and_all_are_short():
    assert len(SCRIPTS) >= 6
    for script in SCRIPTS:
        assert len(script.read_text("utf-8").splitlines()) < 60, script.name


def test_the_page_shows_every_script():
    page = (REPOSITORY / "docs" / "examples.md").read_text("utf-8")
    shown = {line.split('"')[1] for line in page.splitlines() if line.startswith("--8<--")}
    assert shown == {f"examples/{script.name}" for script in SCRIPTS}


@pytest.mark.float32_default  # as a user runs it
def test_a_first_regression_has_calibrated_intervals(capsys):
    scores = _run("first_regression", 60)
    assert scores["rmse"] < 65  # the standard deviation of y is 77
    assert 0.8 < scores["coverage"] < 0.98
    assert f"nll {scores['nll']:.3g}" in capsys.readouterr().out


@pytest.mark.float32_default
def test_least_expected_cost_is_cheaper(capsys):
    costs = _run("asymmetric_costs", 100)
    assert costs["stock, least expected cost"] < 0.7 * costs["stock, the mean"]
    screening = costs["screening, least expected cost"]
    assert screening < 0.7 * costs["screening, likeliest class"]
    assert capsys.readouterr().out.count("per row") == len(costs)


@pytest.mark.float32_default
def test_overdispersed_counts_need_the_direct_loss_or_a_dispersion(capsys):
    nll = _run("counts", 100)
    assert nll["Poisson, direct"] < nll["Poisson, ELBO"] - 0.1
    assert nll["negative binomial, direct"] < nll["Poisson, ELBO"] - 0.1
    assert capsys.readouterr().out.count("NLL") == len(nll)


@pytest.mark.float32_default
def test_each_loss_is_best_at_its_own_score(capsys):
    scores = _run("choosing_a_loss", 200)
    assert scores["direct-log"]["nll"] < scores["elbo"]["nll"] - 0.2
    assert scores["direct-crps"]["crps"] < scores["elbo"]["crps"]
    assert capsys.readouterr().out.count("rmse") == len(scores)


@pytest.mark.float32_default
def test_two_layers_find_the_branches(capsys):
    results = _run("bimodal", 500)
    assert results["deep sigma point process"] < results["one layer"] - 0.5
    assert results["components"] > 1.5
    assert "mixture components" in capsys.readouterr().out


@pytest.mark.float32_default
def test_a_model_is_best_at_the_loss_it_was_trained_for(capsys):
    results = _run("your_own_loss", 150)
    assert np.isfinite(list(results.values())).all()
    assert results["linex"] < results["square"]
    assert capsys.readouterr().out.count("LINEX") == 2
