"""Exact classifiers for a cost are the low-level algorithms, for the rows and weights given."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import BinaryCost, CostMatrix, DirectGPError, RejectCost
from directgp.decisions import decide
from directgp.decisions.exact_inference import decide_for_rows, fit_exact_for_cost, inferences
from directgp.exact import ErrorCosts, Target, ep, ep_by_row, linearised_loss_em, loss_em
from directgp.exact.calibrate import normal_points

COST = BinaryCost(1, 6)
NAMES = list(inferences)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (10, 1))
    return X, X[:, 0] + 0.6 * rng.normal(size=10) > 0.3, rng.uniform(-0.5, 1.5, (7, 1))


@pytest.fixture(scope="module")
def fits(rows):
    X, y, X_test = rows
    found = {}
    for name in NAMES:
        more = {"X_test": X_test, "test_weight": np.arange(1.0, 8.0)}
        own = more if inferences.create(name).calibrated else {}
        found[name] = fit_exact_for_cost(X, y, COST, inference=name, max_steps=0, **own)
    return found


@pytest.mark.parametrize("name", ["loss-em", "linearised-loss-em", "ep-loss-em"])
def test_loss_em_is_the_low_level_function(fits, rows, name):
    fitted = fits[name]
    exact = fitted.exact
    test_rows = exact.gp.features(jnp.asarray(exact.inputs.forward_inputs(rows[2]))).scaled
    weights = jnp.arange(1.0, 8.0) / 28.0
    costs, bound = ErrorCosts(jnp.asarray(1.0), jnp.asarray(6.0)), jnp.asarray(6.0)
    if name == "loss-em":
        points = jnp.asarray(normal_points(10, 10))
        run = eqx.filter_jit(loss_em)
        found = run(exact.rows, test_rows, costs, bound, points, weights=weights)
    else:
        step = "ep" if name == "ep-loss-em" else "laplace"
        run = eqx.filter_jit(linearised_loss_em)
        found = run(exact.rows, test_rows, costs, bound, e_step=step, weights=weights)
    np.testing.assert_array_equal(fitted.calibration.decisions, found.decisions)
    np.testing.assert_allclose(exact.posterior.mean, found.posterior.mean, atol=1e-9)
    np.testing.assert_allclose(exact.posterior.covariance, found.posterior.covariance, atol=1e-9)
    p = fitted.predict(rows[2]).probabilities[:, 1]
    np.testing.assert_allclose(p, found.posterior.probit(test_rows), atol=1e-9)
    if name != "loss-em":  # whose M-step is not the Bayes decision
        action = decide(fitted.predict(rows[2]), COST).action
        np.testing.assert_array_equal(action, fitted.calibration.decisions)


def test_loss_ep_is_the_low_level_function(fits, rows):
    exact = fits["loss-ep"].exact
    target = Target(exact.rows, exact.likelihood)
    test_rows = exact.gp.features(jnp.asarray(exact.inputs.forward_inputs(rows[2]))).scaled
    refine = eqx.filter_jit(lambda target, rows: ep_by_row(target, ep(target), rows))
    expected = refine(target, test_rows)
    p = fits["loss-ep"].predict(rows[2]).probabilities[:, 1]
    np.testing.assert_allclose(p, expected, atol=1e-8)
    assert np.abs(p - fits["ep"].predict(rows[2]).probabilities[:, 1]).max() > 1e-5


def test_decisions_at_rows_that_it_is_run_for_are_those_of_a_fit_to_them(fits, rows):
    X, y, X_test = rows
    inductive = fit_exact_for_cost(X, y, COST, inference="loss-em", max_steps=0)
    assert len(inductive.calibration.decisions) == len(X)
    decision = decide_for_rows(inductive, X_test, COST, test_weight=np.arange(1.0, 8.0))
    fitted = fits["loss-em"]
    np.testing.assert_array_equal(decision.action, fitted.calibration.decisions)
    p = fitted.predict(X_test).probabilities[:, 1]
    prices = np.where(decision.action == 1, 1 - p, 6 * p)
    np.testing.assert_allclose(decision.expected_cost, prices, atol=1e-9)
    other = np.where(decision.action == 1, 6 * p, 1 - p)
    np.testing.assert_allclose(decision.second_best_cost, other, atol=1e-9)


def test_an_infinite_bound_is_the_plain_approximation(fits, rows):
    X, y, X_test = rows
    fitted = fit_exact_for_cost(X, y, COST, X_test=X_test, bound=np.inf, max_steps=0)
    plain = fits["laplace"].predict(X_test).probabilities
    np.testing.assert_allclose(fitted.predict(X_test).probabilities, plain, atol=1e-6)
    tilted = fits["linearised-loss-em"].predict(X_test).probabilities
    assert np.abs(tilted - plain).max() > 1e-4


def test_a_row_of_weight_two_is_two_rows(rows):
    X, y, _ = rows
    twice = np.repeat(np.arange(10), np.where(np.arange(10) < 3, 2, 1))
    weighted = fit_exact_for_cost(
        X, y, inference="laplace", max_steps=0, sample_weight=np.where(np.arange(10) < 3, 2, 1)
    )
    repeated = fit_exact_for_cost(X[twice], y[twice], inference="laplace", max_steps=0)
    assert weighted.log_evidence == repeated.log_evidence


def test_rows_have_prices_of_their_own(rows):
    X, y, X_test = rows
    dear = BinaryCost(1, np.array([1e-3, 50.0] * 3 + [50.0]))
    fitted = fit_exact_for_cost(X, y, dear, X_test=X_test, max_steps=0)
    assert fitted.calibration.decisions.tolist() == [False, True] * 3 + [True]


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_says_what_it_is_and_predicts_each_row_alone(fits, rows, name):
    fitted = fits[name]
    assert repr(fitted).startswith(f"FittedExact: {name} on 10 rows, 1 inputs, Matern52")
    assert list(fitted.hyperparameters(["age"])["lengthscale"]) == ["age"]
    assert fitted.converged
    whole = fitted.predict(rows[2]).log_probabilities
    np.testing.assert_array_equal(whole[2:4], fitted.predict(rows[2][2:4]).log_probabilities)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"cost": None}, "needs the cost of mistakes"),
        ({"cost": 3}, "cost must be a Cost"),
        ({"cost": RejectCost(COST, 0.2)}, "two classes and two actions"),
        ({"cost": CostMatrix([[1, 2], [3, 0]])}, "of which the right one costs 0"),
        ({"inference": "vb"}, "unknown inference 'vb'"),
        ({"inference": "ep", "X_test": [[0.0]]}, "have no effect on inference='ep'"),
        ({"likelihood": "bernoulli-logit"}, "is for the probit link"),
        ({"inference": "loss-ep", "likelihood": "bernoulli-logit"}, "is for the probit link"),
        ({"sample_weight": np.full(10, 0.5)}, "whole numbers, got 0.5"),
        ({"bound": 2.0}, "at least the largest cost 6"),
        ({"test_weight": np.ones(3)}, "shape"),
    ],
)
def test_bad_requests_are_one_line(rows, options, complaint):
    given = {"cost": COST, "max_steps": 0} | options
    with pytest.raises(DirectGPError, match=complaint) as caught:
        fit_exact_for_cost(rows[0], rows[1], given.pop("cost"), **given)
    assert "\n" not in str(caught.value)


def test_only_loss_em_is_run_for_the_rows_it_decides(fits, rows):
    with pytest.raises(DirectGPError, match="only loss-EM fits its posterior"):
        decide_for_rows(fits["ep"], rows[2], COST)
