"""Loss-EM for sparse GPs, for a distribution of test rows, and with costs a row."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from directgp.exact import (
    ErrorCosts,
    Features,
    FiniteGP,
    laplace,
    linearised_loss_em,
    loss_em,
    multiclass_loss_em,
    signed,
)
from directgp.exact.multiclass_loss_em import ClassTarget
from directgp.kernels import RBF

ROWS, TEST = 12, 30
COSTS = ErrorCosts(jnp.asarray(0.2), jnp.asarray(1.0))
BOUND = jnp.asarray(1.0)
run = eqx.filter_jit(linearised_loss_em)


@pytest.fixture(scope="module")
def data():
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        X, new = rng.random((ROWS, 1)), 1.2 * rng.random((TEST, 1))
        y = np.sin(7 * X[:, 0]) + 0.5 * rng.normal(size=ROWS) > 0
        yield jnp.asarray(X), jnp.asarray(y * 1.0), jnp.asarray(new)


def rows_of(support, data):
    X, y, new = data
    gp = FiniteGP(RBF(6.0, 0.3), jnp.asarray(support))
    return signed(gp.features(X).scaled, y), gp.features(new).scaled


def calibrated(support, data, step="laplace"):
    rows, test_rows = rows_of(support, data)
    result = run(rows, test_rows, COSTS, BOUND, e_step=step)
    return result, result.posterior.probit(test_rows)


@pytest.mark.parametrize("step", ["laplace", "calibrated-ep"])
def test_all_inputs_as_support_are_the_exact_gp_whatever_their_order(data, step):
    exact, p = calibrated(data[0], data, step)
    shuffled, same = calibrated(data[0][::-1], data, step)
    np.testing.assert_allclose(same, p, atol=1e-5)
    np.testing.assert_array_equal(shuffled.decisions, exact.decisions)
    np.testing.assert_allclose(
        shuffled.posterior.log_evidence, exact.posterior.log_evidence, atol=1e-5
    )
    assert exact.converged and shuffled.converged


@pytest.mark.parametrize("step", ["laplace", "calibrated-ep"])
def test_inducing_points_come_close_to_the_exact_gp(data, step):
    _, exact = calibrated(data[0], data, step)
    errors = {}
    for count in (4, ROWS):
        result, p = calibrated(np.linspace(0.0, 1.2, count)[:, None], data, step)
        assert result.converged and np.isfinite(p).all()
        assert np.linalg.eigvalsh(result.posterior.covariance).min() > 0
        np.testing.assert_array_equal(result.decisions, COSTS.bayes_decisions(p))
        errors[count] = np.abs(p - exact).max()
    assert errors[ROWS] < 0.02 < errors[4]


def test_weights_are_how_often_a_test_row_comes(data):
    rows, test_rows = rows_of(data[0], data)
    often = np.ones(TEST, int)
    often[:5] = 7
    repeated = jnp.repeat(test_rows, often, axis=0, total_repeat_length=often.sum())
    weighted = run(rows, test_rows, COSTS, BOUND, weights=jnp.asarray(often / often.sum()))
    counted = run(rows, repeated, COSTS, BOUND)
    np.testing.assert_allclose(weighted.posterior.mean, counted.posterior.mean, atol=1e-6)
    np.testing.assert_array_equal(np.repeat(weighted.decisions, often), counted.decisions)
    uniform = run(rows, test_rows, COSTS, BOUND)
    assert np.abs(weighted.posterior.mean - uniform.posterior.mean).max() > 1e-3


def test_a_row_that_is_dearer_counts_as_a_row_that_comes_more_often(data):
    """w_s c_s is all that the utility knows; thresholds depend on the ratio of costs alone."""
    rows, test_rows = rows_of(data[0], data)
    dearer = jnp.asarray(np.random.default_rng(1).uniform(0.5, 3.0, TEST))
    each = ErrorCosts(*(jnp.broadcast_to(cost, TEST) for cost in COSTS))
    own = run(rows, test_rows, ErrorCosts(*(cost * dearer for cost in each)), jnp.asarray(3.0))
    shares = dearer / dearer.sum()
    # Uniform weights with costs c·d are weights d/Σd with costs c·(mean of d).
    scaled = ErrorCosts(*(cost * dearer.mean() for cost in each))
    weighted = run(rows, test_rows, scaled, jnp.asarray(3.0), weights=shares)
    np.testing.assert_allclose(own.posterior.mean, weighted.posterior.mean, atol=1e-7)
    np.testing.assert_array_equal(own.decisions, weighted.decisions)
    ratio = jnp.asarray(np.random.default_rng(2).uniform(0.05, 1.0, TEST))
    costs = ErrorCosts(ratio, each.false_negative)
    result = run(rows, test_rows, costs, BOUND)
    best = costs.bayes_decisions(result.posterior.probit(test_rows))
    np.testing.assert_array_equal(result.decisions, best)


def test_what_cannot_be_and_what_did_not_end(data):
    rows, test_rows = rows_of(data[0], data)
    points = jnp.zeros((2, ROWS))
    small, nothing = jnp.asarray(0.5), jnp.asarray(jnp.nan)
    negative = ErrorCosts(-BOUND, BOUND)
    for ask, complaint in (
        (lambda: linearised_loss_em(rows, test_rows, COSTS, small), "largest cost 1, got 0.5"),
        (lambda: loss_em(rows, test_rows, COSTS, nothing, points), "largest cost 1, got nan"),
        (lambda: linearised_loss_em(rows, test_rows, negative, BOUND), "must be ≥ 0"),
        (
            lambda: linearised_loss_em(rows, test_rows, COSTS, BOUND, weights=jnp.full(TEST, 1.0)),
            "must sum to 1, got 30",
        ),
    ):
        with pytest.raises(ValueError, match=complaint):
            ask()
    assert not run(rows, test_rows, COSTS, BOUND, max_rounds=0).converged


def test_sparse_classes_have_proper_posteriors_and_their_best_actions(data):
    X, _, new = data
    y = jnp.asarray(np.digitize(np.asarray(X)[:, 0], [0.35, 0.7]))
    gp = FiniteGP(RBF(4.0, 0.2), jnp.linspace(0.0, 1.2, 4)[:, None])
    points = jnp.asarray(stats.norm.ppf(stats.qmc.Halton(3, rng=0).random(16)))
    prices = jnp.asarray([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [5.0, 5.0, 0.0]])
    result = eqx.filter_jit(multiclass_loss_em)(
        gp.features(X), y, gp.features(new), prices, jnp.asarray(5.0), points
    )
    assert result.converged and np.isfinite(result.posterior.log_evidence)
    assert np.linalg.eigvalsh(result.posterior.covariance).min() > 0
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(result.actions, np.argmin(result.probabilities @ prices, axis=1))
    with pytest.raises(ValueError, match="largest cost 5, got 1"):
        multiclass_loss_em(gp.features(X), y, gp.features(new), prices, BOUND, points)


def test_a_few_points_of_residual_can_bend_the_likelihood_and_newton_goes_on():
    """An average of two softmaxes is not log-concave: between them its Hessian is indefinite."""
    features = Features(jnp.full((10, 1), 3.0), jnp.full(10, 25.0))
    points = jnp.asarray([[1.0, 0.0], [-1.0, 0.0]])
    target = ClassTarget(features, jnp.zeros(10, int), points)
    start = jnp.asarray([0.5, -0.5])
    derivatives = eqx.filter_jit(lambda target, v: target.derivatives(v))
    assert np.linalg.eigvalsh(derivatives(target, start).hessian).min() < -1.0
    assert np.linalg.eigvalsh(derivatives(target.certain, start).hessian).min() > 1.0 - 1e-9
    q = eqx.filter_jit(laplace)(target, start)
    assert q.converged and np.isfinite(q.log_evidence)
    assert np.abs(derivatives(target, q.mean).gradient).max() < 1e-6
    assert np.linalg.eigvalsh(q.covariance).min() > 0
