"""Joint predictive distributions of several outputs against brute force."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from directgp.likelihoods import BernoulliProbit, GaussianOutputs, PoissonExp, StudentT, vector_of
from directgp.predictive import GaussianMixture, JointGaussianMixture, JointMixture

RNG = np.random.default_rng(0)
ROWS, OUTPUTS = 4, 3
SHIFT, NOISE = np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.5, 0.1])


def gaussian(components=2, mixing=None):
    mixing = RNG.normal(size=(OUTPUTS, 2)) if mixing is None else mixing
    shape = components, ROWS, mixing.shape[1]
    weights = np.linspace(1.0, 2.0, components)
    return JointGaussianMixture(
        RNG.normal(size=shape),
        RNG.uniform(0.2, 1.0, shape),
        mixing,
        np.log(weights / weights.sum()),
        NOISE,
        SHIFT,
    )


def components_of(joint, row):
    """Weight, mean and covariance of every component at a row."""
    weights = np.exp(joint._log_weights)
    for weight, mean, variance in zip(
        weights, joint.means[:, row], joint.variances[:, row], strict=True
    ):
        covariance = joint.mixing @ np.diag(variance) @ joint.mixing.T + np.diag(joint.noise)
        yield weight, joint.mixing @ mean + joint.shift, covariance


@pytest.mark.parametrize("components", [1, 3])
def test_density_mean_and_covariance_are_those_of_the_mixture(components):
    joint, Y = gaussian(components), RNG.normal(size=(ROWS, OUTPUTS))
    for row in range(ROWS):
        parts = list(components_of(joint, row))
        density = sum(w * multivariate_normal(m, C).pdf(Y[row]) for w, m, C in parts)
        assert joint.log_prob(Y)[row] == pytest.approx(np.log(density), rel=1e-10)
        mean = sum(w * m for w, m, _ in parts)
        second = sum(w * (C + np.outer(m, m)) for w, m, C in parts)
        np.testing.assert_allclose(joint.mean[row], mean, rtol=1e-10)
        np.testing.assert_allclose(
            joint.covariance[row], second - np.outer(mean, mean), rtol=1e-9, atol=1e-12
        )
    np.testing.assert_allclose(np.diagonal(joint.covariance, axis1=1, axis2=2), joint.variance)
    np.testing.assert_allclose(np.diagonal(joint.correlation, axis1=1, axis2=2), 1.0)


def test_outputs_that_were_not_measured_are_integrated_away():
    joint, Y = gaussian(3), RNG.normal(size=(ROWS, OUTPUTS))
    Y[0, 1], Y[1, :2], Y[2] = np.nan, np.nan, np.nan
    got = joint.log_prob(Y)
    pair = [0, 2]
    density = sum(
        w * multivariate_normal(m[pair], C[np.ix_(pair, pair)]).pdf(Y[0, pair])
        for w, m, C in components_of(joint, 0)
    )
    assert got[0] == pytest.approx(np.log(density), rel=1e-10)
    assert got[1] == pytest.approx(joint.marginals[2][1].log_prob(Y[1, 2])[0], rel=1e-10)
    assert got[2] == pytest.approx(0.0, abs=1e-12)
    masked = np.ma.array(np.nan_to_num(Y), mask=np.isnan(Y))
    np.testing.assert_array_equal(joint.log_prob(masked), got)


def test_independent_outputs_are_the_product_of_their_marginals():
    joint, Y = gaussian(1, np.diag([1.0, -0.5, 2.0])), RNG.normal(size=(ROWS, OUTPUTS))
    alone = sum(own.log_prob(y) for own, y in zip(joint.marginals, Y.T, strict=True))
    np.testing.assert_allclose(joint.log_prob(Y), alone, rtol=1e-12)
    np.testing.assert_allclose(joint.correlation, np.tile(np.eye(3), (ROWS, 1, 1)), atol=1e-15)


def test_draws_have_the_mean_and_the_covariance():
    joint = gaussian(2)
    draws = joint.sample(200_000, seed=1)
    assert draws.shape == (200_000, ROWS, OUTPUTS)
    np.testing.assert_array_equal(joint.sample(5, seed=3), joint.sample(5, seed=3))
    np.testing.assert_allclose(draws.mean(axis=0), joint.mean, atol=0.03)
    for row in range(ROWS):
        np.testing.assert_allclose(np.cov(draws[:, row].T), joint.covariance[row], atol=0.06)


def test_units_and_rows_can_be_changed():
    joint, Y = gaussian(2), RNG.normal(size=(ROWS, OUTPUTS))
    scale, shift = np.array([10.0, -0.1, 3.0]), np.array([0.0, 5.0, 1.0])
    scaled = joint.affine(scale, shift)
    expected = joint.log_prob(Y) - np.sum(np.log(np.abs(scale)))
    np.testing.assert_allclose(scaled.log_prob(Y * scale + shift), expected, rtol=1e-10)
    np.testing.assert_allclose(scaled.mean, joint.mean * scale + shift, rtol=1e-12)
    np.testing.assert_array_equal(joint[1:3].log_prob(Y[1:3]), joint.log_prob(Y)[1:3])
    assert len(joint[2]) == 1 and repr(joint[2]) == "JointGaussianMixture of 3 outputs for 1 rows"
    assert all(isinstance(own, GaussianMixture) for own in joint.marginals)


@pytest.mark.parametrize("likelihood", [PoissonExp(), BernoulliProbit(), StudentT(0.3, 5.0)])
def test_other_likelihoods_agree_with_an_integral_over_their_latent_function(likelihood):
    """One latent function: everything is an integral over a line."""
    mixing, mean, variance = np.array([[0.8], [-0.5]]), 0.3, 0.4
    vector = vector_of(likelihood, jnp.asarray(mixing), jnp.ones((1, 2), bool))
    joint = vector.predictive(np.full((1, 2, 1), mean), np.full((1, 2, 1), variance), np.zeros(1))
    assert isinstance(joint, JointMixture)
    g = mean + np.sqrt(variance) * np.linspace(-8, 8, 4001)
    weight = np.exp(-0.5 * (g - mean) ** 2 / variance)
    weight /= weight.sum()

    def given(t):
        f = mixing[t] * g
        zero = np.zeros((1, len(g), 1))
        return likelihood.predictive(f[None, :, None], zero, np.zeros(1))

    Y = np.array([[1.0, 0.0], [np.nan, 1.0]])
    both = weight @ np.exp(given(0).log_prob(1.0) + given(1).log_prob(0.0))
    second = weight @ np.exp(given(1).log_prob(1.0))
    np.testing.assert_allclose(joint.log_prob(Y), np.log([both, second]), rtol=2e-3)
    means = [given(t).mean for t in range(2)]
    together = weight @ (means[0] * means[1]) - (weight @ means[0]) * (weight @ means[1])
    np.testing.assert_allclose(joint.covariance[0, 0, 1], together, rtol=0.02)
    np.testing.assert_allclose(joint.mean[0], [weight @ m for m in means], rtol=1e-6)
    draws = joint.sample(40_000, seed=0)
    np.testing.assert_allclose(draws.mean(axis=0), joint.mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws[:, 0].T), joint.covariance[0], atol=0.05)
    doubled = joint.changed(lambda t, own: own[:])
    np.testing.assert_array_equal(doubled.log_prob(Y), joint.log_prob(Y))


def test_what_does_not_fit_is_refused_in_a_line():
    joint = gaussian()
    with pytest.raises(ValueError, match=r"Y must have shape \(4, 3\), a row for each predicted"):
        joint.log_prob(np.zeros((4, 2)))
    with pytest.raises(TypeError, match="Y must be numbers, got dtype"):
        joint.log_prob([["a", "b", "c"]] * 4)
    with pytest.raises(ValueError, match="num_samples must be ≥ 0"):
        joint.sample(-1, 0)
    with pytest.raises(ValueError, match=r"mixing must be \[T 2\]"):
        JointGaussianMixture(
            np.zeros((1, 2, 2)), np.ones((1, 2, 2)), np.ones((3, 4)), [0.0], NOISE, SHIFT
        )
    many = vector_of(GaussianOutputs(2), jnp.eye(2), jnp.ones((1, 2), bool))
    assert many.num_latents == 2
