"""The theory's constants hold, are as tight as they claim, and its measurements mean something."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import theory
from directgp.divergences import KL
from directgp.divergences.base import WhitenedGaussian
from directgp.expectations import ClosedForm, GaussHermite, MonteCarlo, ProductSampling
from directgp.kernels import RBF
from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Categorical,
    Gaussian,
    NegativeBinomialExp,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
)
from directgp.losses import Direct, LogLoss
from directgp.models import SparseGP
from directgp.objective import Batch, Objective
from directgp.theory.bounds import derivatives

_TABLE = [
    *[(BernoulliLogit(), y) for y in (0.0, 1.0)],
    *[(BernoulliProbit(), y) for y in (0.0, 1.0)],
    (Gaussian(0.2), 1.5),
    *[(StudentT(0.3, df), -2.0) for df in (1.5, 4.0, 30.0)],
    *[(PoissonExp(), y) for y in (0.0, 1.0, 2.0, 20.0, 500.0)],
    *[(PoissonSoftplus(), y) for y in (0.0, 1.0, 2.0, 5.0, 20.0)],
]


def _name(value):
    return type(value).__name__ if not isinstance(value, float) else f"{value:g}"


@pytest.mark.parametrize(("likelihood", "y"), _TABLE, ids=_name)
def test_tight_bounds_are_the_extremes_and_the_papers_cover_them(likelihood, y):
    tight, scanned = theory.tight_bounds(likelihood, y), theory.scan_bounds(likelihood, y)
    scale = np.maximum(np.abs(scanned), 1e-3)
    np.testing.assert_allclose(np.array(tight) / scale, np.array(scanned) / scale, atol=2e-6)
    assert theory.paper_bounds(likelihood, y).covers(tight)


def test_values_known_from_the_design_notes():
    softplus = [theory.tight_bounds(PoissonSoftplus(), y) for y in (0.0, 1.0, 2.0, 5.0, 20.0)]
    assert max(max(-b.slope_min, b.slope_max) for b in softplus) < 0.2501
    assert max(max(-b.curvature_min, b.curvature_max) for b in softplus) < 0.15
    twenty = theory.tight_bounds(PoissonExp(), 20.0)
    np.testing.assert_allclose(twenty[1:], [-0.26, 0.22, -1.8, 0.96], atol=0.01)
    logit = theory.tight_bounds(BernoulliLogit(), 0.0)
    assert logit.slope_max == 0.0
    np.testing.assert_allclose(logit.curvature_max, 1 / (6 * math.sqrt(3)))


def test_derivatives_are_those_of_the_likelihood():
    f = np.array([-1.0, 0.3, 2.0])
    probability = lambda x: jnp.exp(NegativeBinomialExp(0.4).log_prob(jnp.asarray(3.0), x[None]))  # noqa: E731
    wanted = [
        [float(function(jnp.asarray(x))) for x in f]
        for function in (probability, jax.grad(probability), jax.grad(jax.grad(probability)))
    ]
    np.testing.assert_allclose(derivatives(NegativeBinomialExp(0.4), 3.0, f), wanted, rtol=1e-10)


def test_bounds_that_do_not_exist_say_so():
    with pytest.raises(ValueError, match="use tight_bounds"):
        theory.paper_bounds(NegativeBinomialExp(0.4), 3.0)
    with pytest.raises(ValueError, match="one latent value"):
        theory.tight_bounds(Categorical(3), 1.0)
    assert theory.tight_bounds(NegativeBinomialExp(0.4), 3.0).value_max < 1.0


def test_expected_derivatives_of_the_probit_are_closed_forms():
    mean, variance = np.array([0.5, -2.0, 0.0]), np.array([1.5, 0.01, 100.0])
    result = theory.expected_derivatives(BernoulliProbit(), np.ones(3), mean, variance)
    width = np.sqrt(1.0 + variance)
    density = np.exp(-0.5 * (mean / width) ** 2) / math.sqrt(2 * math.pi) / width
    expected = [
        [0.5 * math.erfc(-m / w / math.sqrt(2)) for m, w in zip(mean, width, strict=True)],
        density,
        -mean / width**2 * density,
    ]
    np.testing.assert_allclose(np.stack(result), expected, rtol=1e-7, atol=1e-12)


def test_narrow_likelihoods_are_not_missed():
    mean, variance = np.array([0.0]), np.array([9.0])
    result = theory.expected_derivatives(PoissonExp(), np.array([1000.0]), mean, variance)
    at_peak = math.exp(-0.5 * math.log(1000.0) ** 2 / 9) / math.sqrt(2 * math.pi * 9)
    np.testing.assert_allclose(result.value, at_peak / 1000.0, rtol=0.01)


def test_sample_sizes_follow_the_corollaries():
    likelihood, y = BernoulliLogit(), np.array([1.0, 0.0])
    expected = theory.expected_derivatives(likelihood, y, np.array([-1.0, 0.0]), np.ones(2))
    bounds = [theory.tight_bounds(likelihood, label) for label in y]
    samples = theory.samples_for_convergence(
        bounds, expected, num_data=100, step=10, failure_probability=0.05
    )
    first = bounds[0]
    worst = max(
        first.value_max / expected.value[0],
        (first.slope_max - first.slope_min) / abs(expected.slope[0]),
        (first.curvature_max - first.curvature_min) / abs(expected.curvature[0]),
    )
    share = 6 * 0.05 / (math.pi**2 * 100)
    np.testing.assert_allclose(samples[0], math.log(600 / share) / (2 * 0.01) * worst**2, rtol=1e-3)
    # E[φ″] vanishes at μ = 0, so the second row uses Q = 1.
    assert samples[1] < 1e6
    smooth = theory.samples_for_smooth_convergence(bounds, expected, num_data=100, step=10)
    np.testing.assert_allclose(
        smooth.samples[0], math.log(600 / 1e-4) / (2 * 0.01) * worst**2, rtol=1e-3
    )
    np.testing.assert_allclose(smooth.smoothing, 0.1 * expected.value.min())
    paper = [theory.paper_bounds(likelihood, label) for label in y]
    looser = theory.samples_for_convergence(
        paper, expected, num_data=100, step=10, failure_probability=0.05
    )
    assert np.all(looser >= samples)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"failure_probability": 0.0}, "failure_probability"),
        ({"step": 0}, "counted from 1"),
        ({"step_size": 2.0}, "step_size"),
        ({"bounds": []}, "as many bounds"),
    ],
)
def test_impossible_sample_size_questions_are_refused(change, message):
    expected = theory.expected_derivatives(BernoulliLogit(), np.ones(1), np.zeros(1), np.ones(1))
    question = {
        "bounds": [theory.tight_bounds(BernoulliLogit(), 1.0)],
        "num_data": 10,
        "step": 2,
        "failure_probability": 0.1,
    } | change
    with pytest.raises(ValueError, match=message):
        theory.samples_for_convergence(question.pop("bounds"), expected, **question)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        X = rng.normal(size=(60, 2))
        y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(float)
        model = SparseGP(RBF(4.0, 1.0), jnp.asarray(X[:8]), WhitenedGaussian.prior(8))
        return model, Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(60))


def _measure(problem, expectation, repeats=60, **changes):
    model, batch = problem
    settings = {
        "beta": 0.1,
        "num_data": 60,
        "reference": ClosedForm(),
        "repeats": repeats,
        "key": jax.random.key(0),
        "where": lambda model, likelihood: model.posterior.mean,
    } | changes
    objective = Objective(Direct(LogLoss()), KL(), expectation)
    return theory.gradient_statistics(model, BernoulliProbit(), objective, batch, **settings)


def test_exact_gradients_are_perfect(problem):
    statistics = _measure(problem, GaussHermite(100), repeats=3)
    np.testing.assert_allclose(statistics.direction, 1.0, atol=1e-8)
    np.testing.assert_allclose(statistics.size, 1.0, atol=1e-8)
    assert statistics.relative_bias < 1e-8
    assert statistics.reference.shape == (8,)


@pytest.mark.slow
def test_product_sampling_shows_no_bias_and_bmc_does(problem):
    unbiased = _measure(problem, ProductSampling(1), repeats=300)
    quiet = _measure(problem, ProductSampling(1, control_variates=True), repeats=300)
    biased = _measure(problem, MonteCarlo(1), repeats=300)
    assert unbiased.relative_bias < 2.0 * unbiased.noise_level
    assert quiet.relative_bias < 2.0 * quiet.noise_level
    assert biased.relative_bias > 4.0 * biased.noise_level
    assert quiet.size.std() < unbiased.size.std()


def test_statistics_of_all_parameters(problem):
    everything = _measure(problem, MonteCarlo(5), repeats=5, where=lambda *parts: parts)
    assert len(everything.bias) > 8 + 8
    with pytest.raises(ValueError, match="at least 2 repeats"):
        _measure(problem, MonteCarlo(5), repeats=1)


def test_bounds_refuse_a_y_the_likelihood_cannot_give():
    with pytest.raises(ValueError, match="one of"):
        theory.tight_bounds(BernoulliLogit(), 3.0)
    with pytest.raises(ValueError, match="counts"):
        theory.tight_bounds(PoissonExp(), -1.0)
