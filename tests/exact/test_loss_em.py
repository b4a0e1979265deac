"""Loss-EM: gradient (27), the case M → ∞, symmetry, exact moments of the utility factor."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from directgp.exact import (
    ErrorCosts,
    FiniteGP,
    Target,
    ep,
    importance,
    laplace,
    signed,
    t_points,
)
from directgp.exact.finite import Features
from directgp.exact.linearised_loss_em import e_steps, linearised_loss_em
from directgp.exact.loss_em import draw_probabilities, improve, log_gain, loss_em
from directgp.exact.multiclass_loss_em import multiclass_loss_em
from directgp.exact.utility import Utility
from directgp.kernels import RBF
from directgp.likelihoods import BernoulliProbit

SIZE, TEST = 6, 40


@pytest.fixture(scope="module")
def setting():
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        X, new = jnp.asarray(rng.random((SIZE, 1))), jnp.asarray(1.2 * rng.random((TEST, 1)))
        gp = FiniteGP(RBF(6.0, 0.25), X)
        y = jnp.asarray((rng.random(SIZE) < 0.5) * 1.0)
        yield signed(gp.features(X).scaled, y), gp.features(new).scaled


def utility(test_rows, bound=1.0, seed=0):
    rng = np.random.default_rng(seed)
    sides = jnp.asarray(rng.choice([-1.0, 1.0], TEST))
    price = jnp.where(sides > 0, 0.2, 1.0)
    return Utility(test_rows, sides, price, jnp.full(TEST, 1 / TEST), jnp.asarray(bound))


# One program each: operation by operation there would be hundreds.
derivatives = eqx.filter_jit(lambda target, v: target.derivatives(v))


@eqx.filter_jit
def by_autodiff(function, v):
    return function(v), jax.grad(function)(v), jax.hessian(function)(v)


def test_gradient_27_and_hessian_are_those_of_autodiff(setting):
    rows, test_rows = setting
    target = Target(rows, BernoulliProbit(), utility(test_rows))
    v = jnp.asarray(np.random.default_rng(1).normal(size=SIZE))
    given = derivatives(target, v)
    value, gradient, hessian = by_autodiff(target.value, v)
    np.testing.assert_allclose(given.value, value, rtol=1e-12)
    np.testing.assert_allclose(given.gradient, gradient, atol=1e-10)
    np.testing.assert_allclose(given.hessian, hessian, atol=1e-9)


def test_equation_27_as_printed(setting):
    """In the paper's own coordinates θ = L⁻ᵀv, term by term."""
    rng = np.random.default_rng(2)
    X, new = rng.random((4, 1)), rng.random((5, 1))
    y, h = np.array([1, -1, 1, 1.0]), np.array([1, -1, -1, 1, 1.0])
    kernel = RBF(2.0, 0.4)
    both = eqx.filter_jit(kernel.matrix)(jnp.asarray(np.concatenate([X, new])), jnp.asarray(X))
    K, K_s = np.asarray(both)[:4] + 2e-9 * np.eye(4), np.asarray(both)[4:]
    theta, bound = rng.normal(size=4), 1.3
    sigma = np.sqrt(1 + 2.0 - np.sum(K_s * np.linalg.solve(K, K_s.T).T, axis=1))
    cost = np.where(h > 0, 0.3, 1.0)
    gain = bound - np.mean(cost * stats.norm.cdf(-h * (K_s @ theta) / sigma))
    f, f_s = K @ theta, K_s @ theta
    third = K_s.T @ (stats.norm.pdf(f_s / sigma) / sigma * h * cost / gain) / 5
    printed = -K @ theta + K.T @ (stats.norm.pdf(f) * y / stats.norm.cdf(y * f)) + third

    L = np.linalg.cholesky(K)
    rows = jnp.asarray(y[:, None] * L)
    test_rows = jnp.asarray(np.linalg.solve(L, K_s.T).T / sigma[:, None])
    part = Utility(
        test_rows, jnp.asarray(h), jnp.asarray(cost), jnp.full(5, 0.2), jnp.asarray(bound)
    )
    target = Target(rows, BernoulliProbit(), part)
    in_v = -np.asarray(derivatives(target, jnp.asarray(L.T @ theta)).gradient)
    np.testing.assert_allclose(L @ in_v, printed, atol=1e-8)


def test_the_average_utility_and_its_derivatives_over_a_gaussian(setting):
    _, test_rows = setting
    part = utility(test_rows)
    rng = np.random.default_rng(3)
    mean, root = rng.normal(size=SIZE), 0.5 * rng.normal(size=(SIZE,) * 2)
    draws = mean + rng.normal(size=(200_000, SIZE)) @ root.T
    sampled = 1.0 - np.mean(jax.jit(jax.vmap(part.risk))(jnp.asarray(draws)))
    mean, covariance = jnp.asarray(mean), jnp.asarray(root @ root.T)
    value, gradient, hessian = by_autodiff(lambda m: part.log(m, covariance), mean)
    np.testing.assert_allclose(np.exp(value), sampled, atol=2e-3)
    given = eqx.filter_jit(part.expand)(mean, covariance)
    np.testing.assert_allclose(given.gradient, gradient, atol=1e-10)
    np.testing.assert_allclose(given.hessian, hessian, atol=1e-9)


def test_ep_with_a_utility_has_the_moments_of_the_tilted_posterior(setting):
    """Against importance weights times U_M; Laplace's are further away."""
    rows, test_rows = setting
    part = utility(test_rows, bound=1.0)
    target = Target(rows, BernoulliProbit(), part)
    q = eqx.filter_jit(ep)(target).posterior
    plain = Target(rows, BernoulliProbit())
    around = eqx.filter_jit(ep)(plain).posterior
    weighted = eqx.filter_jit(importance)(plain, around, jnp.asarray(t_points(SIZE, 14)))
    tilted = np.asarray(weighted.weights) * (
        1.0 - np.asarray(jax.lax.map(part.risk, weighted.draws))
    )
    np.testing.assert_allclose(q.mean, tilted / tilted.sum() @ weighted.draws, atol=0.03)
    evidence = weighted.log_evidence + np.log(tilted.sum())
    np.testing.assert_allclose(q.log_evidence, evidence, atol=0.1)
    assert np.linalg.eigvalsh(q.covariance).min() > 0


@pytest.mark.parametrize("step", ["laplace", "ep", "calibrated-ep"])
def test_an_infinite_bound_is_the_plain_approximation(setting, step):
    rows, test_rows = setting
    costs = ErrorCosts(jnp.asarray(0.2), jnp.asarray(1.0))
    run = eqx.filter_jit(linearised_loss_em)
    result = run(rows, test_rows, costs, jnp.asarray(jnp.inf), e_step=step)
    target = Target(rows, BernoulliProbit())
    plain = (
        eqx.filter_jit(laplace)(target)
        if step == "laplace"
        else eqx.filter_jit(ep)(target).posterior
    )
    np.testing.assert_allclose(result.posterior.mean, plain.mean, atol=1e-5)
    chosen = costs.bayes_decisions(plain.probit(test_rows))
    np.testing.assert_array_equal(result.decisions, chosen)
    assert result.rounds == 1

    calibrated = run(rows, test_rows, costs, jnp.asarray(1.0), e_step=step)
    assert 1 <= calibrated.rounds < 20
    final = costs.bayes_decisions(calibrated.posterior.probit(test_rows))
    np.testing.assert_array_equal(calibrated.decisions, final)  # h is best under its own q
    moved = np.abs(np.asarray(calibrated.posterior.mean - plain.mean)).max()
    assert 1e-4 < moved < 1.0


def test_symmetric_costs_change_almost_nothing(setting):
    rows, test_rows = setting
    one = jnp.asarray(1.0)
    costs = ErrorCosts(one, one)
    result = eqx.filter_jit(linearised_loss_em)(rows, test_rows, costs, one, e_step="laplace")
    q = eqx.filter_jit(laplace)(Target(rows, BernoulliProbit()))
    plain = costs.bayes_decisions(q.probit(test_rows))
    assert np.mean(np.asarray(result.decisions != plain)) <= 0.1


def test_without_a_bound_the_m_step_is_the_bayes_decision_from_wherever_it_starts(setting):
    """M → ∞: M·E[log(1 − L/M)] → −E[L], so h is what minimises the risk under q."""
    rows, test_rows = setting
    costs, infinite = ErrorCosts(jnp.asarray(1.0), jnp.asarray(1.0)), jnp.asarray(jnp.inf)
    # Draws of another Gaussian than q: the first h, that of q itself, is not their answer.
    points = jnp.asarray(t_points(SIZE, 5)) + 1.0
    q = eqx.filter_jit(laplace)(Target(rows, BernoulliProbit()))
    probability = draw_probabilities(q, test_rows, points)
    best = costs.bayes_decisions(jnp.mean(probability, axis=0))
    assert np.any(best != costs.bayes_decisions(q.probit(test_rows)))
    result = eqx.filter_jit(loss_em)(rows, test_rows, costs, infinite, points)
    np.testing.assert_array_equal(result.decisions, best)
    assert result.converged and result.rounds == 2
    for bound in (infinite, jnp.asarray(1e12)):
        np.testing.assert_array_equal(improve(probability, ~best, costs, bound), best)
    limit = log_gain(probability, ~best, costs, infinite)
    np.testing.assert_allclose(
        log_gain(probability, ~best, costs, jnp.asarray(1e9)), limit, rtol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("step", ["laplace", pytest.param("ep", marks=pytest.mark.slow)])
def test_the_m_step_of_table_1_raises_the_bound(setting, step):
    rows, test_rows = setting
    points = jnp.asarray(t_points(SIZE, 9) * 0.9)
    costs, bound = ErrorCosts(jnp.asarray(0.3), jnp.asarray(1.0)), jnp.asarray(1.0)
    run = eqx.filter_jit(loss_em)
    result = run(rows, test_rows, costs, bound, points, e_step=step)
    probability = draw_probabilities(result.posterior, test_rows, points)
    best = log_gain(probability, result.decisions, costs, bound)
    for row in range(TEST):  # no single change of mind helps
        other = result.decisions.at[row].set(~result.decisions[row])
        assert log_gain(probability, other, costs, bound) <= best + 1e-6
    plain = run(rows, test_rows, costs, jnp.asarray(jnp.inf), points, e_step=step)
    q = e_steps.create(step)(Target(rows, BernoulliProbit()), None).posterior
    sampled = jnp.mean(draw_probabilities(q, test_rows, points), axis=0)
    np.testing.assert_array_equal(plain.decisions, costs.bayes_decisions(sampled))


@pytest.mark.slow
def test_several_classes():
    rng = np.random.default_rng(0)
    X, new = jnp.asarray(rng.random((12, 1))), jnp.asarray(rng.random((15, 1)))
    y = jnp.asarray(np.digitize(np.asarray(X)[:, 0], [0.35, 0.7]))
    gp = FiniteGP(RBF(4.0, 0.2), X)
    train, test = gp.features(X), gp.features(new)
    points = jnp.asarray(stats.norm.ppf(stats.qmc.Halton(3, rng=0).random(64)))
    equal = jnp.ones((3, 3)) - jnp.eye(3)
    run = eqx.filter_jit(multiclass_loss_em)
    plain = run(train, y, test, equal, jnp.asarray(jnp.inf), points)
    np.testing.assert_allclose(plain.probabilities.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(plain.actions, np.argmax(plain.probabilities, axis=1))
    known = np.digitize(np.asarray(new)[:, 0], [0.35, 0.7])
    assert np.mean(plain.actions == known) > 0.7
    dear = equal.at[2].set(jnp.array([20.0, 20.0, 0.0]))  # never miss class 2
    result = run(train, y, test, dear, jnp.asarray(20.0), points)
    assert np.sum(result.actions == 2) > np.sum(plain.actions == 2)
    np.testing.assert_array_equal(result.actions, np.argmin(result.probabilities @ dear, axis=1))


@pytest.mark.slow
def test_two_classes_by_softmax_are_the_logistic_problem():
    """f₁ − f₀ of a two-class softmax is a GP of twice the variance under the logistic link."""
    from directgp.likelihoods import BernoulliLogit

    rng = np.random.default_rng(0)
    X = jnp.asarray(rng.random((8, 1)))
    y = jnp.asarray(rng.integers(0, 2, 8))
    features = FiniteGP(RBF(2.0, 0.3), X).features(X)
    exact = Features(features.values, jnp.zeros(8))
    prices = jnp.ones((2, 2)) - jnp.eye(2)
    result = eqx.filter_jit(multiclass_loss_em)(
        exact, y, exact, prices, jnp.asarray(jnp.inf), jnp.zeros((1, 2)), max_rounds=1
    )
    rows = signed(np.sqrt(2.0) * features.values, y * 1.0)
    binary = laplace(Target(rows, BernoulliLogit()))
    f = result.posterior.mean.reshape(2, 8) @ features.values.T
    np.testing.assert_allclose(f[1] - f[0], np.sqrt(2.0) * features.values @ binary.mean, atol=1e-5)
    np.testing.assert_allclose(result.posterior.log_evidence, binary.log_evidence, atol=1e-6)
