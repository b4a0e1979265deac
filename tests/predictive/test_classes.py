"""Class probabilities: exact for rare classes, the same for each row, refused when wrong."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from directgp.likelihoods import BernoulliLogit, BernoulliProbit, Categorical
from directgp.predictive import ClassProbabilities


def binary(likelihood, mean, variance):
    mean, variance = np.atleast_1d(mean).astype(float), np.atleast_1d(variance).astype(float)
    return likelihood.predictive(mean[None, :, None], variance[None, :, None], np.zeros(1))


def test_probit_is_the_closed_form_and_exact_far_out():
    mean, variance = np.array([0.3, -60.0, 60.0]), np.array([2.0, 1.0, 0.0])
    p = binary(BernoulliProbit(), mean, variance)
    z = mean / np.sqrt(1 + variance)
    np.testing.assert_allclose(p.log_prob(1), special.log_ndtr(z), rtol=1e-12)
    np.testing.assert_allclose(p.log_prob(0), special.log_ndtr(-z), rtol=1e-12)


@pytest.mark.parametrize(
    ("mean", "variance"), [(0.4, 0.0), (1.0, 3.0), (-6.0, 25.0), (2.0, 400.0), (9, 4e4)]
)
def test_logit_equals_numerical_integration(mean, variance):
    p = binary(BernoulliLogit(), mean, variance)
    std = np.sqrt(variance)
    expected = special.expit(mean)
    if variance:
        expected, _ = integrate.quad(
            lambda f: special.expit(f) * stats.norm.pdf(f, mean, std),
            mean - 12 * std, mean + 12 * std, points=[0.0, mean], epsabs=1e-13, limit=300,
        )  # fmt: skip
    assert p.probabilities[0, 1] == pytest.approx(expected, rel=1e-9)


def test_logit_of_a_wide_latent_is_a_gaussian_tail_area():
    """Separable classes drive the latent scale up; the step then is narrow beside the Gaussian."""
    mean, std = np.array([-900.0, 100.0, 3e3]), np.array([300.0, 1000.0, 3000.0])
    p = binary(BernoulliLogit(), mean, std**2)
    np.testing.assert_allclose(p.probabilities[:, 1], special.ndtr(mean / std), rtol=1e-3)
    np.testing.assert_allclose(p.probabilities.sum(axis=1), 1.0, rtol=1e-12)


def test_logit_far_off_labels_follow_the_moment_generating_function():
    """For m far below 0, E[σ(f)] is E[e^f] = exp(m + v/2)."""
    p = binary(BernoulliLogit(), [-60.0, -200.0], [1.0, 9.0])
    np.testing.assert_allclose(p.log_prob(1), [-59.5, -195.5], rtol=1e-9)


def test_categorical_agrees_with_a_large_sample_and_with_logit_for_two_classes():
    generator = np.random.default_rng(0)
    mean, variance = generator.normal(size=(2, 3, 4)), generator.uniform(0.1, 2, (2, 3, 4))
    weights = np.log([0.3, 0.7])
    p = Categorical(4).predictive(mean, variance, weights)
    f = mean + np.sqrt(variance) * generator.normal(size=(100_000, 2, 3, 4))
    sampled = np.einsum("lsnk,s->nk", special.softmax(f, axis=-1), np.exp(weights)) / len(f)
    np.testing.assert_allclose(p.probabilities, sampled, atol=3e-3)
    np.testing.assert_allclose(p.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    two = Categorical(2).predictive(mean[:1, :, :2], variance[:1, :, :2], np.zeros(1))
    difference = mean[0, :, 1] - mean[0, :, 0], variance[0, :, :2].sum(axis=1)
    exact = binary(BernoulliLogit(), *difference).probabilities
    np.testing.assert_allclose(two.probabilities, exact, atol=2e-3)


def test_equal_rows_get_equal_probabilities():
    mean, variance = np.zeros((1, 500, 3)), np.ones((1, 500, 3))
    p = Categorical(3).predictive(mean, variance, np.zeros(1)).probabilities
    assert np.all(p == p[0])


def test_summaries():
    p = ClassProbabilities(np.log([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]]))
    assert p.num_classes == 3 and len(p) == 2
    assert p.predicted.tolist() == [1, 0]
    np.testing.assert_allclose(p.mean, [1.1, 0.4])
    np.testing.assert_allclose(p.quantile([0.1, 0.5, 0.95]), [[0, 1, 2], [0, 0, 2]])
    np.testing.assert_allclose(p.cdf([0.5, 1]), [0.2, 0.9])
    np.testing.assert_allclose(p.crps([1, 0]), [0.2**2 + 0.3**2, 0.3**2 + 0.1**2])
    assert np.all(p.log_prob(0.5) == -np.inf)
    assert p[1].probabilities.shape == (1, 3)


def test_a_certain_class_is_allowed():
    with np.errstate(divide="ignore"):
        p = ClassProbabilities(np.log([[1.0, 0.0]]))
    assert p.log_prob(1)[0] == -np.inf and p.variance[0] == 0


@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.zeros(3), np.zeros((2, 1)), [[np.nan, 0]]])
def test_what_is_no_distribution_is_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        ClassProbabilities(wrong)


@pytest.mark.parametrize("variance", [0.0, 0.1, 1.0, 5.0, 20.0])
def test_softmax_of_two_gives_the_logistic_of_the_difference(variance):
    """f₁ − f₀ is N(m, 2v): a rare class too is right, where few of q's points lie."""
    gap = np.array([0.0, 5.0, 15.0, 40.0])
    means = np.stack([np.zeros(4), gap], axis=-1)[None]
    two = Categorical(2).predictive(means, np.full((1, 4, 2), variance), np.zeros(1))
    one = BernoulliLogit().predictive(
        gap[None, :, None], np.full((1, 4, 1), 2 * variance), np.zeros(1)
    )
    np.testing.assert_allclose(two.log_probabilities, one.log_probabilities, atol=0.03)


def test_rare_classes_of_a_mixture_are_the_weighted_average_of_its_components():
    rng = np.random.default_rng(0)
    means, variances = 6.0 * rng.standard_normal((2, 5, 4)), rng.uniform(0.1, 9.0, (2, 5, 4))
    weights = np.array([0.3, 0.7])
    mixture = Categorical(4).predictive(means, variances, np.log(weights))
    parts = [
        Categorical(4).predictive(means[s : s + 1], variances[s : s + 1], np.zeros(1))
        for s in range(2)
    ]
    expected = sum(w * part.probabilities for w, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(mixture.probabilities, expected, rtol=0.05, atol=1e-12)


def test_labels_that_are_no_class_numbers_are_refused():
    with pytest.raises(ValueError, match="99999 as one of 2 different labels"):
        Categorical().for_targets([0, 99999])
    with pytest.raises(ValueError, match="whole number"):
        Categorical(1)
