"""Each likelihood against scipy.stats, and what is said of bad targets."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Categorical,
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
    likelihoods,
)
from directgp.likelihoods.rates import HOST, ExpRate, SoftplusRate, bounded_exp
from directgp.parameters import split_trainable, unwrap

F = np.array([-50.0, -5.0, -0.3, 0.0, 1.2, 6.0, 50.0])
COUNTS = np.array([0.0, 1.0, 7.0, 400.0, 1e5])


def on_grid(likelihood, y, f):
    """log p for all pairs of y and f."""
    first, second = np.meshgrid(y, f, indexing="ij")
    values = _log_prob(likelihood, jnp.asarray(first), jnp.asarray(second)[..., None])
    return first, second, np.asarray(values)


@eqx.filter_jit
def _log_prob(likelihood, y, f):
    return likelihood.log_prob(y, f)


@pytest.mark.parametrize(
    ("likelihood", "log_cdf"),
    [(BernoulliProbit(), stats.norm.logcdf), (BernoulliLogit(), stats.logistic.logcdf)],
)
def test_bernoulli(likelihood, log_cdf):
    y, f, values = on_grid(likelihood, [0.0, 1.0], F)
    np.testing.assert_allclose(values, log_cdf((2 * y - 1) * f), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("likelihood", [PoissonExp(), PoissonSoftplus()])
def test_poisson(likelihood):
    y, f, values = on_grid(likelihood, COUNTS, F)
    rate = np.exp(f) if isinstance(likelihood, PoissonExp) else np.logaddexp(f, 0)
    np.testing.assert_allclose(values, stats.poisson.logpmf(y, rate), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dispersion", [1e-5, 0.01, 0.5, 20.0])
def test_negative_binomial(dispersion):
    likelihood = NegativeBinomialExp(dispersion)
    y, f, values = on_grid(likelihood, COUNTS, F)
    size = 1.0 / dispersion
    # scipy's success probability 1/(1 + λ/r) rounds to 0 or 1 at |f| = 50.
    safe = np.abs(f) < 10
    reference = stats.nbinom.logpmf(y, size, 1.0 / (1.0 + dispersion * np.exp(f)))
    tolerance = 1e-9 * max(1.0, size**0.5)
    np.testing.assert_allclose(values[safe], reference[safe], rtol=1e-8, atol=tolerance)
    assert np.all(np.isfinite(values))


def test_negative_binomial_without_dispersion_is_the_poisson():
    narrow, poisson = NegativeBinomialSoftplus(2e-6), PoissonSoftplus()
    y, f = [0.0, 1.0, 7.0], [-2.0, 1.0, 6.0]
    values, reference = on_grid(narrow, y, f)[2], on_grid(poisson, y, f)[2]
    np.testing.assert_allclose(values, reference, atol=1e-4)


@pytest.mark.parametrize("df", [1.5, 4.0, 200.0])
def test_student_t(df):
    y, f, values = on_grid(StudentT(0.7, df), [-3.0, 0.0, 1e5], F)
    np.testing.assert_allclose(values, stats.t.logpdf(y, df, loc=f, scale=0.7), rtol=1e-10)


def test_student_t_learns_or_keeps_its_scale_and_tails():
    def number_learned(likelihood):
        return len(jax.tree.leaves(split_trainable(likelihood)[0]))

    assert number_learned(StudentT()) == 2
    assert number_learned(StudentT(learn_df=False)) == 1
    assert number_learned(StudentT(learn_df=False, learn_scale=False)) == 0
    fixed = StudentT(0.5, 3.0, learn_df=False, learn_scale=False)
    assert float(unwrap(fixed.df)) == pytest.approx(3.0)
    assert np.isinf(StudentT(df=2.0).conditional_variance(jnp.zeros((1, 1))))
    with pytest.raises(ValueError, match=r"df of StudentT must be above 1, got 0\.5"):
        StudentT(df=0.5)


def test_student_t_that_learns_its_tails_keeps_a_finite_variance():
    """Training that pushes df down as far as it goes; below 2 the variance would be infinite."""

    def pushed(likelihood):
        learned, fixed = split_trainable(likelihood)
        return eqx.combine(jax.tree.map(lambda raw: raw - 800.0, learned), fixed)

    f = jnp.zeros((1, 1))
    low = pushed(StudentT(learn_scale=False))
    assert float(unwrap(low.df)) == pytest.approx(2.1)
    np.testing.assert_allclose(low.conditional_variance(f), 0.3**2 * 2.1 / 0.1)
    assert np.isfinite(
        low.predictive(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), np.zeros(1)).variance
    )
    heavy = pushed(StudentT(df=1.9))  # asked for, so allowed
    assert float(unwrap(heavy.df)) == pytest.approx(1.0)
    assert np.isinf(heavy.conditional_variance(f))


def test_categorical():
    f = np.random.default_rng(0).normal(size=(6, 4)) * 20
    y = np.array([0, 1, 2, 3, 0, 1], dtype=np.float64)
    values = Categorical(4).log_prob(jnp.asarray(y), jnp.asarray(f))
    expected = special.log_softmax(f, axis=1)[np.arange(6), y.astype(int)]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="at least 2, got 1"):
        Categorical(1)


def test_two_classes_are_the_logistic_likelihood_of_the_difference():
    f = np.random.default_rng(0).normal(size=(5, 2)) * 3
    y = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    difference = jnp.asarray(f[:, 1:] - f[:, :1])
    np.testing.assert_allclose(
        Categorical(2).log_prob(jnp.asarray(y), jnp.asarray(f)),
        BernoulliLogit().log_prob(jnp.asarray(y), difference),
        rtol=1e-12,
    )


def test_log_softplus_is_exact_far_below_zero():
    f = np.array([-800.0, -40.0, -12.1, -12.0, -11.9, 0.0, 30.0])
    small = np.exp(f)
    exact = np.where(f < -20, f - 0.5 * small, np.log(np.log1p(np.maximum(small, 1e-300))))
    for values in (SoftplusRate().log_rate(f, HOST), SoftplusRate().log_rate(jnp.asarray(f))):
        np.testing.assert_allclose(values, exact, rtol=1e-13)
    rates = np.array([1e-8, 0.3, 40.0, 1e5])
    latent = SoftplusRate().latent(rates, HOST)
    np.testing.assert_allclose(SoftplusRate().rate(latent, HOST), rates, rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exp_rate_stays_finite_and_increasing(dtype):
    f = np.array([0.0, 50.0, 80.0, 700.0, 800.0, 1e4], dtype)
    rate = bounded_exp(f, HOST)
    assert rate.dtype == dtype
    assert np.all(np.isfinite(rate)) and np.all(np.diff(rate) > 0)
    np.testing.assert_allclose(rate[:2], np.exp(f[:2]), rtol=1e-6)


def test_moments_of_a_rate_of_a_gaussian():
    mean, variance = np.array([[-3.0, 0.5, 4.0]]), np.array([[0.0, 0.4, 9.0]])
    x = np.linspace(-14, 14, 200_001)
    weights = np.exp(-0.5 * x**2)
    weights /= weights.sum()
    for rate in (ExpRate(), SoftplusRate()):
        values = rate.rate(mean[..., None] + np.sqrt(variance)[..., None] * x, HOST)
        first = values @ weights
        second = (values - first[..., None]) ** 2 @ weights
        found = rate.moments(mean, variance)
        np.testing.assert_allclose(found[0], first, rtol=1e-9)
        np.testing.assert_allclose(found[1], second, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("poisson", [1, -2, 3], r"y must be counts .* got -2 \(row 1, 1 in all\)"),
        ("negative-binomial", [1, 2.5, 3.5], r"got 2.5 \(row 1, 2 in all\)"),
        ("bernoulli", [0, 1, 2], r"y must be 0 or 1, got 2 \(row 2"),
        ("bernoulli", ["no", "yes"], "y must be 0 or 1, got 'no'; encode"),
        ("bernoulli-logit", [1, 1], r"y has a single class \(1\)"),
        ("categorical", [0, 1, 3], "class numbers 0 to 2, got 3"),
        ("categorical", [2, 2, 2], r"y has a single class \(2\)"),
        ("student-t", [0.0, np.inf], "y must be finite numbers, got inf"),
        ("poisson", [[1], [2]], r"one value per row, got shape \(2, 1\)"),
    ],
)
def test_bad_targets_are_refused_in_one_line(name, y, message):
    with pytest.raises(ValueError, match=message):
        likelihoods.create(name).check_targets(y)


def test_booleans_are_labels():
    np.testing.assert_array_equal(BernoulliProbit().check_targets([True, False]), [1.0, 0.0])
