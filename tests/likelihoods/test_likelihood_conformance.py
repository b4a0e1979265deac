"""What every registered likelihood promises, tested on all of them."""

import warnings
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directgp.expectations import ClosedForm, GaussHermite, MonteCarlo
from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Categorical,
    ConditionalMean,
    Gaussian,
    LogProb,
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
    SquaredError,
    StudentT,
    has_closed_form,
    likelihoods,
)
from directgp.losses import Direct, Gibbs, Integrals, LogLoss
from directgp.marginals import Marginals


class Case(NamedTuple):
    """A likelihood, targets to try, values of y that hold nearly all mass, and refused targets."""

    likelihood: object
    targets: tuple
    support: np.ndarray | None
    refused: tuple


COUNTS = np.arange(0.0, 3000.0)
BAD_COUNTS = ([1.0, -2.0], [0.5, 1.0], [np.nan, 1.0], ["many", "few"])
BAD_LABELS = ([0.0, 0.0, 0.0], [0.0, 7.0], [0.5, 1.0], [np.nan, 1.0], ["yes", "no"], [-1.0, 1.0])

CASES = {
    "gaussian": Case(Gaussian(0.3), (-50.0, 0.0, 1.5, 1e5), None, ()),
    "student-t": Case(StudentT(0.4, 5.0), (-50.0, 0.0, 1.5, 1e5), None, ([np.nan, 1.0], ["a"])),
    "bernoulli": Case(BernoulliProbit(), (0.0, 1.0), np.arange(2.0), BAD_LABELS),
    "bernoulli-logit": Case(BernoulliLogit(), (0.0, 1.0), np.arange(2.0), BAD_LABELS),
    "categorical": Case(Categorical(4), (0.0, 1.0, 3.0), np.arange(4.0), BAD_LABELS),
    "poisson": Case(PoissonExp(), (0.0, 1.0, 17.0, 1e5), COUNTS, BAD_COUNTS),
    "poisson-softplus": Case(PoissonSoftplus(), (0.0, 1.0, 17.0, 1e5), COUNTS, BAD_COUNTS),
    "negative-binomial": Case(NegativeBinomialExp(0.3), (0.0, 1.0, 17.0, 1e5), COUNTS, BAD_COUNTS),
    "negative-binomial-softplus": Case(
        NegativeBinomialSoftplus(0.3), (0.0, 1.0, 17.0, 1e5), COUNTS, BAD_COUNTS
    ),
}

every = pytest.mark.parametrize("name", sorted(CASES))


# Whole programs: operation by operation, every likelihood compiles dozens of them.


@eqx.filter_jit
def log_prob(likelihood, y, f):
    return likelihood.log_prob(y, f)


@eqx.filter_jit
def moments(likelihood, f):
    return likelihood.conditional_mean(f), likelihood.conditional_variance(f)


@eqx.filter_jit
def mode_and_log_max(likelihood, y):
    return likelihood.mode(y), likelihood.log_max(y)


@eqx.filter_jit
def direct_and_gibbs(likelihood, integrals):
    return Direct(LogLoss())(likelihood, integrals), Gibbs(LogLoss())(likelihood, integrals)


@eqx.filter_jit
def apply(integrand, y, f):
    return integrand(y, f)


def latents(likelihood, rows=5, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(rows, likelihood.num_latents))


def marginals(likelihood, components=2, rows=4, seed=0):
    generator = np.random.default_rng(seed)
    shape = (components, rows, likelihood.num_latents)
    weights = generator.dirichlet(np.ones(components))
    return generator.normal(size=shape), generator.uniform(0.05, 1.5, shape), np.log(weights)


def test_every_registered_likelihood_is_tested():
    assert set(CASES) == set(likelihoods)
    for name, case in CASES.items():
        assert type(likelihoods.create(name)) is type(case.likelihood)


@every
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_shapes_broadcast_over_leading_axes(name, batch):
    likelihood, targets, _, _ = CASES[name]
    y = jnp.full(batch, targets[-1])
    f = jnp.zeros((*batch, likelihood.num_latents))
    calls = (
        (likelihood.log_prob, (y, f), batch),
        (likelihood.conditional_mean, (f,), batch),
        (likelihood.conditional_variance, (f,), batch),
        (likelihood.log_max, (y,), batch),
        (likelihood.mode, (y,), f.shape),
    )
    for method, arguments, shape in calls:
        value = jax.eval_shape(method, *arguments)
        assert (value.shape, value.dtype) == (shape, jnp.float64)


@every
def test_mode_is_where_log_max_is_reached(name):
    likelihood, targets, _, _ = CASES[name]
    y = jnp.array(targets)
    mode, most = (np.asarray(part) for part in mode_and_log_max(likelihood, y))
    bounded = np.where(np.isfinite(mode), mode, np.clip(mode, -1e3, 1e3))
    offsets = np.concatenate([np.zeros(1), np.linspace(-3.0, 3.0, 20)])[:, None, None]
    near = bounded + offsets * np.ones_like(bounded)
    far = 10.0 * latents(likelihood, 20)[:, None] + np.zeros_like(bounded)
    around = np.concatenate([near, far])
    every_y = np.broadcast_to(np.array(targets), around.shape[:-1])
    values = np.asarray(log_prob(likelihood, jnp.asarray(every_y), jnp.asarray(around)))
    np.testing.assert_allclose(values[0], most, rtol=1e-9, atol=1e-9)
    assert np.all(values <= most + 1e-9)


@every
def test_moments_equal_sums_and_probabilities_sum_to_one(name):
    likelihood, _, support, _ = CASES[name]
    f = jnp.asarray(latents(likelihood))
    mean, variance = moments(likelihood, f)
    if support is None:  # a heavy tail needs a grid that grows
        x = np.linspace(-12.0, 12.0, 20_001)
        y, weights = np.sinh(x) * 0.05, np.cosh(x) * 0.05 * (x[1] - x[0])
    else:
        y, weights = support, np.ones(support.size)
    repeated = np.broadcast_to(f, (y.size, *f.shape))
    every_y = np.broadcast_to(y[:, None], repeated.shape[:-1])
    log_p = log_prob(likelihood, jnp.asarray(every_y), jnp.asarray(repeated))
    p = weights[:, None] * np.exp(log_p)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_allclose(y @ p, mean, rtol=1e-9, atol=1e-9)
    second = np.sum(p * (y[:, None] - np.asarray(mean)) ** 2, axis=0)
    np.testing.assert_allclose(second, variance, rtol=1e-6)


@every
def test_extremes_are_finite_and_their_gradients_point_at_the_mode(name):
    """Training has to recover from |f| = 50 and beyond, for counts of 0 and of 1e5."""
    likelihood, targets, _, _ = CASES[name]
    extremes = (-800.0, -50.0, 50.0, 800.0)
    y = jnp.asarray(np.repeat(targets, len(extremes)))
    at = np.zeros((y.size, likelihood.num_latents))
    at[:, -1] = np.tile(extremes, len(targets))

    def total(learned_and_f, y):
        values = learned_and_f[0].log_prob(y, learned_and_f[1])
        return jnp.sum(values), values

    slopes = eqx.filter_jit(eqx.filter_value_and_grad(total, has_aux=True))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (_, values), gradients = slopes((likelihood, jnp.asarray(at)), y)
    assert np.all(np.isfinite(values))
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradients))
    if likelihood.num_latents == 1:
        mode = np.asarray(mode_and_log_max(likelihood, y)[0])
        slope, toward = np.asarray(gradients[1])[:, 0], np.sign(mode[:, 0] - at[:, 0])
        assert np.all((np.sign(slope) == toward) | (slope == 0))
        # Only at the mode, or where y is certain already, is there nothing to do.
        assert np.all((slope != 0) | (toward == 0) | (values > -1e-12))


@every
def test_initial_latent_is_finite_and_near_the_data(name):
    likelihood, targets, _, _ = CASES[name]
    for y in (np.array(targets[:2]), np.full(7, targets[0]), np.array([*targets[:2]] * 20)):
        start = likelihood.initial_latent(y)
        assert start.shape == (likelihood.num_latents,)
        assert np.all(np.isfinite(start))
    fitted, _ = moments(likelihood, jnp.asarray(start)[None])
    np.testing.assert_allclose(fitted, y.mean(), atol=0.15 + 0.02 * np.ptp(y))


@every
def test_targets_are_checked(name):
    likelihood, targets, _, refused = CASES[name]
    np.testing.assert_array_equal(likelihood.check_targets(list(targets)), targets)
    for wrong in refused:
        with pytest.raises(ValueError, match=r"^y ") as caught:
            likelihood.check_targets(wrong)
        assert "\n" not in str(caught.value)


def dense(integrand, y, mean, variance, kind):
    """E[g] or log E[exp g] on 4001 points."""
    x = np.linspace(-12.0, 12.0, 4001)
    weights = np.exp(-0.5 * x**2)
    mean, variance = np.asarray(mean), np.asarray(variance)
    f = mean[..., 0] + np.sqrt(variance[..., 0]) * x[:, None, None]
    every_y = jnp.asarray(np.broadcast_to(y, f.shape))
    values = np.asarray(apply(integrand, every_y, jnp.asarray(f[..., None])))
    if kind == "mean":
        return np.tensordot(weights / weights.sum(), values, 1)
    peak = values.max(axis=0)
    return peak + np.log(np.tensordot(weights / weights.sum(), np.exp(values - peak), 1))


EXACT = [
    ("bernoulli", LogProb, "log_mean_exp"),
    ("bernoulli", ConditionalMean, "mean"),
    ("poisson", LogProb, "mean"),
    ("poisson", ConditionalMean, "mean"),
    ("poisson", SquaredError, "mean"),
    ("negative-binomial", ConditionalMean, "mean"),
    ("negative-binomial", SquaredError, "mean"),
    ("student-t", LogProb, "log_mean_exp"),
    ("student-t", ConditionalMean, "mean"),
    ("student-t", SquaredError, "mean"),
    ("gaussian", LogProb, "mean"),
    ("gaussian", LogProb, "log_mean_exp"),
    ("gaussian", ConditionalMean, "mean"),
    ("gaussian", SquaredError, "mean"),
]


def test_no_closed_form_goes_untested_and_none_is_lost():
    """One that is lost would be replaced by quadrature in silence."""
    kinds = ("mean", "log_mean_exp")
    found = {
        (name, integrand, kind)
        for name, case in CASES.items()
        for integrand in (LogProb, ConditionalMean, SquaredError)
        for kind in kinds
        if has_closed_form(integrand, type(case.likelihood), kind)
    }
    assert found == set(EXACT)


@pytest.mark.parametrize(("name", "integrand", "kind"), EXACT)
def test_closed_forms_equal_dense_quadrature(name, integrand, kind):
    likelihood, targets, _, _ = CASES[name]
    y = jnp.asarray(np.resize([target for target in targets if abs(target) < 20], 4))
    mean, variance, _ = marginals(likelihood)
    mean, variance = jnp.asarray(2.0 * mean), jnp.asarray(variance)
    g = integrand(likelihood)
    exact = eqx.filter_jit(getattr(ClosedForm(), kind))(g, y, mean, variance, None)
    np.testing.assert_allclose(exact, dense(g, y, mean, variance, kind), rtol=1e-8, atol=1e-8)


@every
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), spread=st.floats(1e-3, 3.0), components=st.integers(1, 4))
def test_direct_log_loss_is_never_above_gibbs(name, seed, spread, components):
    """Jensen, for every likelihood and every mixture; it holds for a quadrature rule as well."""
    likelihood, targets, _, _ = CASES[name]
    generator = np.random.default_rng(seed)
    rows = 8  # a fixed shape, so that nothing is compiled twice
    shape = (4, rows, likelihood.num_latents)
    weights = np.zeros(4)
    weights[:components] = generator.dirichlet(np.ones(components))
    q = Marginals(
        jnp.asarray(generator.normal(size=shape) * 2.0),
        jnp.asarray(spread * generator.uniform(0.1, 1.0, shape)),
        jnp.asarray(np.log(np.maximum(weights, 1e-300))),
    )
    y = jnp.asarray(generator.choice([t for t in targets if t < 1e5], rows))
    one = likelihood.num_latents == 1
    integrals = Integrals(y, q, GaussHermite(20) if one else MonteCarlo(20), jax.random.key(seed))
    direct, gibbs = (np.asarray(part) for part in direct_and_gibbs(likelihood, integrals))
    assert np.all(direct <= gibbs + 1e-9 * (1.0 + np.abs(gibbs)))


@every
def test_without_variance_both_losses_are_the_log_probability(name):
    likelihood, targets, _, _ = CASES[name]
    y = jnp.asarray(np.resize([t for t in targets if t < 1e5], 8))
    f = jnp.asarray(latents(likelihood, 8))
    shape = (4, *f.shape)
    q = Marginals(jnp.broadcast_to(f, shape), jnp.full(shape, 1e-18), jnp.full(4, -np.log(4.0)))
    one = likelihood.num_latents == 1
    integrals = Integrals(y, q, GaussHermite(20) if one else MonteCarlo(20), jax.random.key(0))
    expected = -np.asarray(log_prob(likelihood, y, f))
    for found in direct_and_gibbs(likelihood, integrals):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# What every predictive distribution promises


@every
def test_predictive_density_is_one_in_total_and_has_the_stated_moments(name):
    likelihood, _, support, _ = CASES[name]
    mean, variance, weights = marginals(likelihood)
    p = likelihood.predictive(mean, variance, weights)
    assert len(p) == mean.shape[1]
    if support is None:
        x = np.linspace(-12.0, 12.0, 2001)
        y, measure = np.sinh(x) * 0.05, np.cosh(x) * 0.05 * (x[1] - x[0])
    else:
        y, measure = support, np.ones(support.size)
    for row in range(2):
        alone = p[np.full(y.size, row)]
        density = measure * np.exp(alone.log_prob(y))
        np.testing.assert_allclose(density.sum(), 1.0, rtol=1e-7)
        np.testing.assert_allclose(density @ y, p.mean[row], rtol=1e-4, atol=1e-7)
        # Beyond 3000 the counts of a log-normal rate still hold a little of the variance.
        np.testing.assert_allclose(density @ (y - p.mean[row]) ** 2, p.variance[row], rtol=1e-2)


@every
def test_predictive_cdf_is_the_sum_of_the_density(name):
    likelihood, _, support, _ = CASES[name]
    p = likelihood.predictive(*marginals(likelihood))
    y = np.linspace(-8.0, 8.0, 161) if support is None else support[:40]
    cdf = np.stack([p.cdf(at) for at in y])
    density = np.stack([np.exp(p.log_prob(at)) for at in y])
    assert np.all(np.diff(cdf, axis=0) >= -1e-12)
    np.testing.assert_allclose(cdf + np.stack([p.survival(at) for at in y]), 1.0, rtol=1e-9)
    if support is None:
        steps = 0.5 * (density[1:] + density[:-1]) * (y[1] - y[0])
        np.testing.assert_allclose(np.diff(cdf, axis=0), steps, atol=2e-4)
    else:
        np.testing.assert_allclose(cdf, np.cumsum(density, axis=0), rtol=1e-8)


@every
def test_predictive_quantiles_are_the_smallest_that_reach_their_level(name):
    likelihood, _, support, _ = CASES[name]
    p = likelihood.predictive(*marginals(likelihood))
    for level in (0.01, 0.3, 0.5, 0.9, 0.999):
        quantile = p.quantile(level)
        if support is None:
            np.testing.assert_allclose(p.cdf(quantile), level, rtol=1e-9)
        else:
            assert np.all(p.cdf(quantile) >= level - 1e-12)
            assert np.all(p.cdf(quantile - 1.0) < level + 1e-12)


@every
def test_predictive_log_prob_is_the_direct_log_loss(name):
    """What is trained for is what is reported."""
    likelihood, targets, _, _ = CASES[name]
    mean, variance, weights = marginals(likelihood)
    y = np.resize([t for t in targets if abs(t) < 20], mean.shape[1])
    reported = likelihood.predictive(mean, variance, weights).log_prob(y)
    given_y = LogProb(likelihood), jnp.asarray(y), jnp.asarray(mean), jnp.asarray(variance)
    if likelihood.num_latents == 1:
        parts, tolerance = dense(*given_y, "log_mean_exp"), 1e-8
    else:
        sampled = eqx.filter_jit(MonteCarlo(5000).log_mean_exp)
        parts, tolerance = sampled(*given_y, jax.random.key(0)), 0.05
    trained = np.logaddexp.reduce(weights[:, None] + parts, axis=0)
    np.testing.assert_allclose(reported, trained, rtol=tolerance, atol=tolerance)


@every
def test_predictions_do_not_depend_on_the_batch(name):
    likelihood, targets, _, _ = CASES[name]
    mean, variance, weights = marginals(likelihood, rows=7)
    y = np.resize([t for t in targets if abs(t) < 1e5], 7)
    p = likelihood.predictive(mean, variance, weights)
    for rows in ([3], [5, 3], [0, 1, 2, 3, 4]):
        alone = likelihood.predictive(mean[:, rows], variance[:, rows], weights)
        for part in (alone, p[rows]):
            for ask in (
                lambda p, y: p.mean,
                lambda p, y: p.variance,
                lambda p, y: p.log_prob(y),
                lambda p, y: p.cdf(y),
                lambda p, y: p.crps(y),
                lambda p, y: p.quantile(0.8),
            ):
                np.testing.assert_allclose(ask(part, y[rows]), ask(p, y)[rows], rtol=1e-11)


@every
def test_predictive_draws_match_the_moments(name):
    likelihood = CASES[name].likelihood
    p = likelihood.predictive(*marginals(likelihood))
    draws = p.sample(20_000, seed=1)
    assert draws.shape == (20_000, len(p))
    assert np.array_equal(draws[:3], p.sample(20_000, seed=1)[:3])
    error = np.sqrt(p.variance / len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - p.mean) < 5 * error)
    np.testing.assert_allclose(np.mean(draws <= p.median, axis=0), p.cdf(p.median), atol=0.02)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"gaussian"}))
@pytest.mark.float32_default
def test_predictive_needs_no_x64_setting_of_the_caller(name):
    likelihood = likelihoods.create(name)
    P = likelihood.num_latents
    p = likelihood.predictive(np.zeros((1, 2, P)), np.ones((1, 2, P)), np.zeros(1))
    assert p.log_prob(1.0).dtype == np.float64
