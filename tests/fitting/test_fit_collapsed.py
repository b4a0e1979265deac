"""`fit_collapsed`: what is solved for is good, the grid of β is cheap, held-out rows are judged."""

import numpy as np
import pytest

from directgp import DirectGPError, fit_collapsed, plots
from directgp.fitting.specs import FixedHyperparameters, Sparse
from directgp.training.evaluate import Scorer
from directgp.training.loop import FAILED
from directgp.training.resumable import Stages
from tests.flat import flat_model

NOISE = 0.2


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + NOISE * rng.normal(size=n)


X, Y = table()
X_NEW, Y_NEW = table(2000, seed=1)
QUICK = {"max_steps": 100, "num_inducing": 15}


def rmse(fitted):
    return np.sqrt(np.mean((fitted.predict(X_NEW).mean - Y_NEW) ** 2))


@pytest.mark.parametrize("objective", ["elbo", "fitc", "direct-square"])
def test_joint_and_with_the_hyperparameters_of_another(objective):
    joint = fit_collapsed(X, Y, **flat_model(objective=objective, **QUICK))
    assert rmse(joint) < 1.35 * NOISE
    donor = fit_collapsed(X, Y, **flat_model(**QUICK))
    fixed = fit_collapsed(X, Y, objective=objective, model=FixedHyperparameters(donor))
    assert rmse(fixed) < 1.35 * NOISE
    np.testing.assert_array_equal(fixed.gp.model.inducing, donor.gp.model.inducing)
    assert fixed.reason == "solved" and not fixed.history["step"]
    assert plots.learning_curve(fixed.history).get_xlabel() == "step"


@pytest.mark.parametrize("steps", [30, 100, 137, 400])
def test_the_whole_grid_costs_at_most_four_fits(steps, monkeypatch):
    asked, run = [], Stages.run

    def record(self, name, gp, settings, beta, validation=None):
        asked.append(settings)
        return run(self, name, gp, settings, beta, validation)

    monkeypatch.setattr(Stages, "run", record)
    fitted = fit_collapsed(X, Y, beta="auto", max_steps=steps, model=Sparse(num_inducing=5))
    assert len(fitted.beta_curve) == len(asked) - 1
    chunks = {own.chunk for own in asked}
    assert len(chunks) == 1, "chunks of one length are compiled once"
    (chunk,) = chunks
    assert sum(-(-own.steps // chunk) * chunk for own in asked) <= 4 * steps


def test_of_values_that_cannot_be_told_apart_the_nearest_to_one_is_chosen(monkeypatch):
    """The rule of `fit`: one standard error, so that β means the same for every objective."""
    noise = np.random.default_rng(0).normal(size=12)
    noise -= noise.mean()
    grid = [4.0, 1.0, 0.5, 0.25]  # in the order in which they are judged
    losses = iter([1.0 + 0 * noise, 0.01 + noise, 0.005 - noise, 0 * noise, 0 * noise])
    monkeypatch.setattr(Scorer, "rows", lambda self, gp: next(losses))
    fitted = fit_collapsed(X, Y, max_steps=30, beta=grid, model=Sparse(num_inducing=5))
    assert fitted.beta_curve[0.25] == min(fitted.beta_curve.values())
    assert fitted.beta == 1.0


def test_a_path_that_failed_is_not_chosen(monkeypatch):
    run = Stages.run

    def fail_at_one(self, name, gp, settings, beta, validation=None):
        trained = run(self, name, gp, settings, beta, validation)
        return trained._replace(reason=FAILED) if beta == 0.5 else trained

    monkeypatch.setattr(Stages, "run", fail_at_one)
    fitted = fit_collapsed(X, Y, max_steps=30, beta=[0.5, 200.0], model=Sparse(num_inducing=5))
    assert fitted.beta == 200.0 and fitted.beta_curve[0.5] == np.inf


def test_rows_held_out_are_judged():
    fitted = fit_collapsed(X, Y, **flat_model(validation=0.25, **QUICK))
    assert fitted.held_out is not None and len(fitted.held_out) == 30
    assert np.mean(fitted.held_out) < 1.0
    assert fit_collapsed(X, Y, **flat_model(**QUICK)).held_out is None


def crowded(n, seed):
    """Nine rows of ten where the function is flat: there k-means puts most inducing inputs."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.uniform(size=n) < 0.9, rng.uniform(-12, -2, n), rng.uniform(0, 2, n))
    return x[:, None], np.where(x > 0, np.sin(8 * x), 0.0) + 0.05 * rng.normal(size=n)


def square_fit(X, Y, inducing, **options):
    return fit_collapsed(
        X, Y, objective="direct-square", inducing=inducing, beta=0.1, max_steps=150,
        model=Sparse(num_inducing=12), **options,
    )  # fmt: skip


def test_held_out_rows_choose_between_fixed_and_learned_inducing_inputs():
    """Learned where many rows show what k-means misses, fixed where few rows can be learned by
    heart; without held-out rows they are fixed."""
    outcomes = set()
    for X_train, y_train, valid in (
        (*crowded(600, 0), crowded(300, 1)),
        (X[:25], Y[:25], (X_NEW[:200], Y_NEW[:200])),
    ):
        ways = {
            name: square_fit(X_train, y_train, name, validation=valid)
            for name in ("fixed", "learned", "auto")
        }
        losses = {name: np.mean(fitted.held_out) for name, fitted in ways.items()}
        inputs = {name: np.asarray(fitted.gp.model.inducing) for name, fitted in ways.items()}
        assert np.abs(inputs["fixed"] - inputs["learned"]).max() > 0.01
        best = min(("fixed", "learned"), key=losses.get)
        outcomes.add(best)
        np.testing.assert_array_equal(inputs["auto"], inputs[best])
        assert losses["auto"] == losses[best]
    assert outcomes == {"fixed", "learned"}


def test_inducing_inputs_without_held_out_rows():
    """Fixed for the square loss, learned for the bounds, unless the other is asked for."""
    start = {}
    for objective in ("direct-square", "elbo"):
        for inducing in ("auto", "fixed", "learned"):
            fitted = fit_collapsed(
                X, Y, objective=objective, inducing=inducing, max_steps=20,
                model=Sparse(num_inducing=6),
            )  # fmt: skip
            start[objective, inducing] = np.asarray(fitted.gp.model.inducing)
    fixed = start["direct-square", "fixed"]
    for key in (("direct-square", "auto"), ("elbo", "fixed")):
        np.testing.assert_array_equal(start[key], fixed)
    for key in (("direct-square", "learned"), ("elbo", "auto"), ("elbo", "learned")):
        assert np.abs(start[key] - fixed).max() > 0.01


def test_the_best_beta_of_either_way_enters_the_choice():
    """With a grid of β each way brings the β that is best for it."""
    rows, valid = crowded(600, 0), crowded(300, 1)
    options = {
        "objective": "direct-square", "beta": [1.0, 0.1], "max_steps": 60, "validation": valid,
        "model": Sparse(num_inducing=12),
    }  # fmt: skip
    fits = {way: fit_collapsed(*rows, inducing=way, **options) for way in ("fixed", "learned")}
    best = min(fits.values(), key=lambda fitted: np.mean(fitted.held_out))
    chosen = fit_collapsed(*rows, **options)
    assert chosen.beta == best.beta and chosen.beta_curve == best.beta_curve


def test_ways_with_inducing_inputs_that_have_no_meaning_are_refused():
    donor = fit_collapsed(X, Y, **flat_model(**QUICK))
    with pytest.raises(DirectGPError, match="no effect with FixedHyperparameters"):
        fit_collapsed(X, Y, inducing="learned", model=FixedHyperparameters(donor))
    with pytest.raises(DirectGPError, match="inducing must be"):
        fit_collapsed(X, Y, inducing="free")
