"""Combinations: a sample is run again, refusals are explained, the page is the store's."""

import json
from pathlib import Path

import numpy as np
import pytest

from directgp import DirectGPError, fit, fit_outputs
from directgp.fitting.specs import Training
from experiments.combinations import store as stored
from experiments.combinations.exact import EXACT, exact_combinations, exact_outcome
from experiments.combinations.outcome import Outcome, outcome
from experiments.combinations.page import page_of
from experiments.combinations.parts import (
    DIVERGENCES,
    MODELS,
    OUTPUTS,
    Combination,
    combinations,
    table,
)
from experiments.combinations.reasons import REASONS, UNKNOWN, reason_for
from experiments.combinations.store import fill, missing, read
from experiments.commands.app import run
from experiments.commands.combinations import STORE

REPOSITORY = Path(__file__).resolve().parents[2]
FOUND = {each.combination: each for each in read(REPOSITORY / STORE)}
SAMPLE = [
    Combination("1 layer", "gaussian", "direct-square"),
    Combination("1 layer", "bernoulli", "direct-pinball"),
    Combination("1 layer", "poisson", "elbo"),
]
OUTPUTS_TOO = [
    *SAMPLE,
    Combination("2 outputs", "categorical", "elbo"),
    Combination("2 outputs", "gaussian", "joint-log"),
]


@pytest.mark.parametrize("combination", SAMPLE, ids=" ".join)
def test_a_sample_is_as_stored(combination):
    assert outcome(combination) == FOUND[combination]


@pytest.mark.parametrize("combination", OUTPUTS_TOO, ids=" ".join)
@pytest.mark.parametrize("divergence", [DIVERGENCES[0], DIVERGENCES[2]])
def test_fit_trains_and_refuses_the_same(combination, divergence):
    """The page speaks of what a user meets, who calls `fit` or `fit_outputs`."""
    X, y, likelihood = table(combination.model, combination.likelihood)
    door = fit_outputs if combination.model in OUTPUTS else fit
    found, refusal = outcome(combination), ""
    try:
        fitted = door(
            X, y, model=MODELS[combination.model], likelihood=likelihood, loss=combination.loss,
            divergence=divergence, beta=1.0, training=Training(max_steps=3, precision="float64"),
            verbose=False,
        )  # fmt: skip
        assert np.isfinite(fitted.history["objective"]).all()
    except DirectGPError as error:
        refusal = str(error)
    assert refusal == found.refusal


@pytest.mark.parametrize("likelihood,loss", [("gaussian", "regression, crps"), ("bernoulli", "ep")])
def test_exact_inference_that_there_is(likelihood, loss):
    combination = Combination(EXACT, likelihood, loss)
    assert combination in exact_combinations()
    assert exact_outcome(combination) == Outcome(*combination, finite=(True,))


@pytest.mark.parametrize("inference", ["laplace", "loss-em"])
@pytest.mark.parametrize("likelihood", ["gaussian", "poisson", "categorical"])
def test_exact_inference_that_there_is_not_has_a_reason(inference, likelihood):
    found = exact_outcome(Combination(EXACT, likelihood, inference))
    assert found.refusal and reason_for(found.refusal).kind != UNKNOWN


def test_the_page_is_that_of_the_store():
    text = (REPOSITORY / "docs" / "combinations.md").read_text("utf-8")
    assert text == page_of(list(FOUND.values()))


def test_every_part_that_is_registered_is_in_the_store():
    """If not: `python -m experiments combinations --page docs/combinations.md`."""
    assert not missing(FOUND.values())
    assert set(FOUND) == {*combinations(), *exact_combinations()}


def test_nothing_fails_and_every_refusal_has_a_reason():
    assert all(each.refusal or all(each.finite) for each in FOUND.values())
    refusals = {each.refusal for each in FOUND.values() if each.refusal}
    assert UNKNOWN not in {reason_for(refusal).kind for refusal in refusals}
    assert len({reason.pattern for reason in REASONS}) == len(REASONS)


def test_only_what_is_missing_is_run(tmp_path, monkeypatch):
    path, names = tmp_path / "found.jsonl", SAMPLE[:3]
    asked = []

    def recorded(combination):
        asked.append(combination)
        return FOUND[combination]

    monkeypatch.setattr(stored, "all_combinations", lambda: names)
    monkeypatch.setattr(stored, "outcome", recorded)
    path.write_text(json.dumps(FOUND[names[1]].__dict__) + "\n")
    assert fill(path, seconds=0.0) == [FOUND[names[1]]] and not asked
    seen = []
    assert [each.combination for each in fill(path, lambda *new: seen.append(new))] == [
        names[1], names[0], names[2]
    ]  # fmt: skip
    assert asked == [names[0], names[2]] and [left for _, left in seen] == [1, 0]
    assert [each.combination for each in read(path)] == names, "in the order of the combinations"


def test_an_interrupted_run_keeps_what_it_has(tmp_path, monkeypatch):
    path = tmp_path / "found.jsonl"

    def interrupted(combination):
        if combination == SAMPLE[1]:
            raise KeyboardInterrupt
        return FOUND[combination]

    monkeypatch.setattr(stored, "all_combinations", lambda: SAMPLE[:2])
    monkeypatch.setattr(stored, "outcome", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fill(path)
    assert read(path) == [FOUND[SAMPLE[0]]]


def test_a_page_says_what_differs_and_what_was_not_run():
    found = [
        Outcome("1 layer", "gaussian", "elbo", finite=(True, True, False)),
        Outcome("1 layer", "poisson", "direct-log", refusal="not | today"),
    ]
    text = page_of(found)
    assert "1 layer, gaussian, `elbo`: only with kl, weighted-kl:w=0.5" in text
    assert "| `elbo` | ✘ | · |" in text and "| `direct-log` | · | a |" in text
    assert "| a | 1 | not \\| today |  | no reason given |" in text


def test_the_command(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "found.jsonl").write_text((REPOSITORY / STORE).read_text("utf-8"))
    page = ("--page", "page.md", "--json", "--seconds", "0")
    assert run(["combinations", "--store", "found.jsonl", *page]) == 0
    counts = json.loads(capfd.readouterr().out)["counts"]
    assert sum(counts.values()) - counts["not run"] == len(FOUND)
    assert counts["not run"] == len(missing(FOUND.values()))
    assert (tmp_path / "page.md").read_text("utf-8") == page_of(list(FOUND.values()))
    (tmp_path / "found.jsonl").write_text("{}\n")
    assert run(["combinations", "--store", "found.jsonl"]) == 2
    assert "line 1 of found.jsonl is not an outcome of a combination" in capfd.readouterr().err
