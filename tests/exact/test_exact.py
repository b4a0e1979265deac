"""Laplace and EP against quadrature, samplers, finite differences and scikit-learn."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessClassifier, kernels

from directgp.exact import (
    FiniteGP,
    Target,
    elliptical_slice,
    ep,
    ep_by_row,
    importance,
    laplace,
    nuts,
    signed,
    t_points,
)
from directgp.exact.classifier import approximations, fit_exact
from directgp.exact.utility import Utility
from directgp.kernels import RBF, Linear
from directgp.likelihoods import BernoulliLogit, BernoulliProbit, Categorical
from directgp.training.loop import TrainingWarning

ROWS = 8


def problem(seed, variance=4.0, rows=ROWS):
    rng = np.random.default_rng(seed)
    X = jnp.asarray(rng.random((rows, 1)))
    features = FiniteGP(RBF(variance, 0.3), X).features(X)
    f = np.asarray(features.values) @ rng.normal(size=rows)
    y = jnp.asarray((rng.random(rows) < stats.norm.cdf(f)) * 1.0)
    return Target(signed(features.scaled, y), BernoulliProbit())


run_ep = eqx.filter_jit(lambda target: ep(target))
run_laplace = eqx.filter_jit(lambda target, start=None: laplace(target, start))
weigh = eqx.filter_jit(importance)
log_sigmoid = eqx.filter_jit(lambda likelihood, f: likelihood.log_sigmoid(jnp.asarray(f)))
gradient_of = eqx.filter_jit(lambda target, v: target.derivatives(v).gradient)


def by_quadrature(target, points=80):
    """log Z, mean and covariance of a two-dimensional target on a grid of Gauss–Hermite nodes."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    weights = weights / weights.sum()
    v = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w = np.outer(weights, weights).ravel()
    mass = w * np.prod(stats.norm.cdf(v @ np.asarray(target.rows).T), axis=1)
    mean = mass @ v / mass.sum()
    return np.log(mass.sum()), mean, ((v - mean).T * mass) @ (v - mean) / mass.sum()


def test_one_observation_is_exact_under_ep():
    target = Target(jnp.array([[1.7, -0.4]]), BernoulliProbit())
    evidence, mean, covariance = by_quadrature(target)
    q = run_ep(target).posterior
    np.testing.assert_allclose(q.log_evidence, evidence, atol=1e-10)
    np.testing.assert_allclose(q.log_evidence, np.log(0.5), atol=1e-10)
    np.testing.assert_allclose(q.mean, mean, atol=1e-9)
    np.testing.assert_allclose(q.covariance, covariance, atol=1e-9)


def on_a_grid(target):
    """log Z, mean and covariance of a two-dimensional target, by the trapezoidal rule."""
    axis = np.linspace(-8.0, 8.0, 801)
    v = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    fit = np.asarray(log_sigmoid(target.likelihood, v @ np.asarray(target.rows).T))
    mass = np.exp(fit.sum(axis=1) - 0.5 * np.sum(v**2, axis=1)) * 0.02**2 / (2 * np.pi)
    mean = mass @ v / mass.sum()
    covariance = (v - mean).T * mass @ (v - mean) / mass.sum()
    return np.log(mass.sum()), mean, covariance


@pytest.mark.parametrize("size", [1.0, 12.0])
def test_one_observation_is_exact_under_ep_with_the_logistic_link(size):
    target = Target(size * jnp.array([[1.7, -0.4]]), BernoulliLogit())
    evidence, mean, covariance = on_a_grid(target)
    q = run_ep(target).posterior
    np.testing.assert_allclose(q.log_evidence, evidence, atol=1e-7)
    np.testing.assert_allclose(q.log_evidence, np.log(0.5), atol=1e-7)
    np.testing.assert_allclose(q.mean, mean, atol=1e-6)
    np.testing.assert_allclose(q.covariance, covariance, atol=1e-6)


def test_ep_with_the_logistic_link_is_nearer_to_the_truth_than_laplace():
    rows = 4.0 * np.random.default_rng(0).normal(size=(4, 2))
    target = Target(jnp.asarray(rows), BernoulliLogit())
    evidence, mean, _ = on_a_grid(target)
    propagated, at_mode = run_ep(target).posterior, run_laplace(target)
    assert bool(propagated.converged)
    assert np.abs(propagated.mean - mean).max() < 0.5 * np.abs(at_mode.mean - mean).max()
    assert abs(propagated.log_evidence - evidence) < 0.5 * abs(at_mode.log_evidence - evidence)


def test_the_evidence_of_ep_with_the_logistic_link_has_its_gradient():
    rows = jnp.asarray(np.random.default_rng(1).normal(size=(5, 3)))

    @jax.jit
    @jax.value_and_grad
    def evidence(size):
        return ep(Target(size * rows, BernoulliLogit())).posterior.log_evidence

    numeric = (evidence(1.5 + 1e-5)[0] - evidence(1.5 - 1e-5)[0]) / 2e-5
    np.testing.assert_allclose(evidence(1.5)[1], numeric, rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_two_dimensions_against_quadrature(seed):
    rows = np.random.default_rng(seed).normal(size=(4, 2))
    target = Target(jnp.asarray(rows), BernoulliProbit())
    evidence, mean, covariance = by_quadrature(target)
    q = run_ep(target).posterior
    np.testing.assert_allclose(q.log_evidence, evidence, atol=0.02)
    np.testing.assert_allclose(q.mean, mean, atol=0.02)
    np.testing.assert_allclose(q.covariance, covariance, atol=0.02)
    weighted = weigh(target, q, jnp.asarray(t_points(2, 12)))
    np.testing.assert_allclose(weighted.log_evidence, evidence, atol=2e-3)
    np.testing.assert_allclose(weighted.mean, mean, atol=5e-3)


def test_twenty_problems_against_the_reference():
    """Stated tolerances: EP log Z 0.1, means 0.05, variances 0.06; Laplace 0.4, 0.6, 0.25."""
    points = jnp.asarray(t_points(ROWS, 13))
    errors = {"ep": [], "laplace": []}
    for seed in range(20):
        target = problem(seed)
        by_ep, by_laplace = run_ep(target).posterior, run_laplace(target)
        truth = weigh(target, by_ep, points)
        assert truth.effective > 2000
        for name, q in (("ep", by_ep), ("laplace", by_laplace)):
            errors[name].append(
                [
                    abs(float(q.log_evidence - truth.log_evidence)),
                    np.max(np.abs(np.asarray(q.mean) - truth.mean)),
                    np.max(np.abs(np.diag(np.asarray(q.covariance) - truth.covariance))),
                ]
            )
    worst = {name: np.max(values, axis=0) for name, values in errors.items()}
    assert (worst["ep"] < [0.1, 0.05, 0.06]).all(), worst
    assert (worst["laplace"] < [0.4, 0.6, 0.25]).all(), worst
    assert np.all(np.mean(errors["ep"], axis=0) < 0.5 * np.mean(errors["laplace"], axis=0))


@pytest.mark.slow
def test_two_samplers_and_the_weighted_draws_agree():
    target = problem(3)
    q = run_ep(target).posterior
    truth = weigh(target, q, jnp.asarray(t_points(ROWS, 14)))
    chains = {
        "nuts": nuts(target, jax.random.key(0), num_samples=1500, num_warmup=300),
        "slice": elliptical_slice(target, jax.random.key(1), num_samples=1500, num_warmup=50),
    }
    for name, draws in chains.items():
        flat = np.asarray(draws).reshape(-1, ROWS)
        between = np.asarray(draws).mean(axis=1).std(axis=0, ddof=1) / np.sqrt(len(draws))
        # Four chain means give a rough error; 0.02 is what 6000 draws are good for.
        assert np.all(np.abs(flat.mean(axis=0) - truth.mean) < 5 * between + 0.04), name
        np.testing.assert_allclose(np.cov(flat.T), truth.covariance, atol=0.12, err_msg=name)


@pytest.mark.parametrize("method", ["laplace", "ep"])
def test_the_gradient_of_the_evidence_is_that_of_finite_differences(method):
    rng = np.random.default_rng(0)
    X, y = jnp.asarray(rng.random((ROWS, 1))), jnp.asarray(rng.integers(0, 2, ROWS) * 1.0)
    support = X[:5]  # sparse, so that residual variances take part

    @jax.jit
    @jax.value_and_grad
    def evidence(logs):
        gp = FiniteGP(RBF(jnp.exp(logs[0]), jnp.exp(logs[1])), support)
        target = Target(signed(gp.features(X).scaled, y), BernoulliProbit())
        q = laplace(target) if method == "laplace" else ep(target).posterior
        return q.log_evidence

    at = jnp.log(jnp.array([3.0, 0.25]))
    gradient = evidence(at)[1]
    for i, step in enumerate(np.eye(2) * 1e-5):
        change = (evidence(at + step)[0] - evidence(at - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient[i], change, rtol=1e-5, atol=1e-7)


def test_ep_stays_finite_and_proper_on_extreme_problems():
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e2, 1e4):
        rows = scale * rng.normal(size=(ROWS, ROWS))
        q = run_ep(Target(jnp.asarray(rows), BernoulliProbit())).posterior
        assert np.isfinite(q.log_evidence)
        assert np.linalg.eigvalsh(q.covariance).min() > 0
    copies = jnp.tile(jnp.array([[5.0, 0.0]]), (ROWS, 1))  # the same row again and again
    q = run_ep(Target(copies, BernoulliProbit())).posterior
    assert np.isfinite(q.log_evidence) and q.log_evidence < 0


@pytest.mark.parametrize("link", [BernoulliProbit, BernoulliLogit])
def test_laplace_stays_finite_and_proper_on_extreme_problems(link):
    rng = np.random.default_rng(0)
    random, one = rng.normal(size=(ROWS, ROWS)), np.eye(ROWS)
    far = np.asarray(
        FiniteGP(RBF(1e6, 1e3), jnp.asarray(rng.random((ROWS, 1))))
        .features(jnp.asarray(rng.random((ROWS, 1))))
        .values
    )
    mixed = np.where(np.arange(ROWS) % 2, 1.0, -1.0)[:, None]
    problems = {
        **{f"scale {scale:g}": scale * random for scale in (1e-6, 1e2, 1e4)},
        "one class": 3.0 * np.abs(random),
        "contradictions": 1e3 * mixed * one[0],
        "the same row": np.tile(5.0 * one[0], (ROWS, 1)),
        "large f, huge length-scale, one class": far,
        "large f, huge length-scale, both classes": mixed * far,
    }
    for name, rows in problems.items():
        target = Target(jnp.asarray(rows), link())
        far_off = min(500.0 / (ROWS * np.abs(rows).max()), 1e3) * jnp.ones(ROWS)  # |f| up to 500
        # The logistic link is all but straight far out: Newton's method has no curvature to use.
        starts = [jnp.zeros(ROWS), far_off] if link is BernoulliProbit else [jnp.zeros(ROWS)]
        for start in starts:
            q = run_laplace(target, start)
            assert q.converged and np.isfinite(q.log_evidence) and q.log_evidence < 0, name
            assert np.linalg.eigvalsh(q.covariance).min() > 0, name
            # At the mode: a step of Newton's method has nowhere to go.
            step = np.asarray(q.covariance) @ gradient_of(target, q.mean)
            assert np.abs(step).max() < 1e-7, name


def test_what_did_not_converge_says_so(monkeypatch):
    target = problem(0)
    assert run_ep(target).posterior.converged and run_laplace(target).converged
    assert not eqx.filter_jit(lambda target: ep(target, max_sweeps=1))(target).posterior.converged
    assert not eqx.filter_jit(lambda target: laplace(target, max_steps=1))(target).converged
    X, y = np.linspace(0, 1, 8)[:, None], np.arange(8) > 3
    assert fit_exact(X, y, learn=False).converged
    hasty = {"laplace": lambda: lambda target: laplace(target, max_steps=1)}
    monkeypatch.setattr(approximations, "_parts", approximations._parts | hasty)
    with pytest.warns(TrainingWarning, match="laplace did not converge in 1 steps"):
        assert not fit_exact(X, y, learn=False, method="laplace").converged


def test_contradictions_are_as_likely_as_they_are():
    """The same x labelled both ways: EP must find the symmetric posterior."""
    rows = jnp.array([[1.0, 0.0], [-1.0, 0.0]])
    target = Target(rows, BernoulliProbit())
    q = run_ep(target).posterior
    np.testing.assert_allclose(q.mean, 0.0, atol=1e-9)
    np.testing.assert_allclose(q.log_evidence, by_quadrature(target)[0], atol=5e-3)


def test_ep_by_row_is_closer_to_the_truth_than_ep():
    points = jnp.asarray(t_points(ROWS, 13))
    refine = eqx.filter_jit(ep_by_row)
    plain_error, row_error = [], []
    for seed in range(4):
        target = problem(seed, variance=10.0)
        plain = run_ep(target)
        rows = jnp.asarray(np.random.default_rng(seed).normal(size=(12, ROWS)))
        truth = weigh(target, plain.posterior, points).probit(rows, plain.posterior)
        plain_error.append(np.abs(plain.posterior.probit(rows) - truth))
        row_error.append(np.abs(refine(target, plain, rows) - truth))
    assert np.mean(row_error) < 0.8 * np.mean(plain_error)


def test_laplace_is_that_of_scikit_learn():
    """Its link is the logistic, and so is ours here; its kernel has no jitter, ours 1e-9."""
    rng = np.random.default_rng(1)
    X = rng.random((20, 2))
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=20) > 1).astype(int)
    theirs = GaussianProcessClassifier(4.0 * kernels.RBF(0.5), optimizer=None).fit(X, y)
    gp = FiniteGP(RBF(4.0, 0.5), jnp.asarray(X))
    rows = signed(gp.features(jnp.asarray(X)).values, jnp.asarray(y * 1.0))
    q = run_laplace(Target(rows, BernoulliLogit()))
    np.testing.assert_allclose(q.log_evidence, theirs.log_marginal_likelihood_value_, rtol=1e-6)
    new = rng.random((5, 2))
    mean, variance = theirs.latent_mean_and_variance(new)
    ours = q.latent(gp.features(jnp.asarray(new)))
    np.testing.assert_allclose(ours[0], mean, rtol=1e-5)
    np.testing.assert_allclose(ours[1], variance, rtol=1e-5)


@pytest.mark.parametrize("method", ["laplace", "ep"])
def test_learning_hyperparameters_raises_the_evidence_and_finds_the_step(method):
    rng = np.random.default_rng(0)
    X = rng.random((30, 1))
    y = X[:, 0] > 0.6
    start = fit_exact(X, y, method=method, learn=False)
    learned = fit_exact(X, y, method=method, max_steps=30)
    assert learned.log_evidence > start.log_evidence + 0.5
    p = learned.predict([[0.1], [0.95]]).probabilities[:, 1]
    # Laplace is known to be timid where the classes separate (`lossem` Table 4: EP ≪ Laplace).
    low, high = {"laplace": (0.4, 0.6), "ep": (0.05, 0.9)}[method]
    assert p[0] < low and p[1] > high


def test_a_sparse_classifier_with_all_points_is_the_exact_one():
    rng = np.random.default_rng(0)
    X = rng.random((12, 1))
    y = X[:, 0] > 0.5
    exact = fit_exact(X, y, learn=False)
    sparse = fit_exact(X, y, learn=False, num_inducing=12)
    np.testing.assert_allclose(exact.log_evidence, sparse.log_evidence, atol=1e-6)
    few = fit_exact(X, y, learn=False, num_inducing=4)
    assert np.isfinite(few.log_evidence)


def test_every_kernel_has_a_start_by_its_name():
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    lines = fit_exact(X, X[:, 0] > 0, kernel="linear", learn=False, method="laplace")
    assert isinstance(lines.gp.kernel, Linear)
    assert lines.predict([[-3.0, 0.0], [3.0, 0.0]]).predicted.tolist() == [0, 1]


def test_bad_requests_are_refused_in_a_line():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    half = jnp.full(2, 0.5)
    tilt = Utility(jnp.zeros((2, 2)), jnp.ones(2), jnp.ones(2), half, jnp.ones(()))
    with pytest.raises(ValueError, match="EP with a utility is for the probit link"):
        ep(Target(jnp.zeros((2, 2)), BernoulliLogit(), tilt))
    with pytest.raises(ValueError, match="two classes, got Categorical"):
        fit_exact(X, y, likelihood=Categorical(3))
    with pytest.raises(ValueError, match="probit link; use"):
        fit_exact(X, y, likelihood="bernoulli-logit", num_inducing=2)
    with pytest.raises(ValueError, match="unknown approximation 'vb'"):
        fit_exact(X, y, method="vb")
    with pytest.raises(ValueError, match="too many for an exact GP"):
        fit_exact(np.zeros((2001, 1)), np.arange(2001) % 2)


def test_an_outlier_in_an_input_hurts_no_other_row(rng):
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(float)
    odd = X.copy()
    odd[5, 1] = 1e8
    fitted = fit_exact(odd, y, max_steps=30)
    rest = np.arange(120) != 5
    assert np.mean((fitted.predict(X).probabilities[:, 1] > 0.5)[rest] == y[rest]) > 0.9
