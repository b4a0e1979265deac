"""The mixture that errors are modelled by finds tails and skewness, and never makes a spike."""

import numpy as np
import pytest
from scipy import integrate, stats

from directgp.fitting.stacking.residual_shape import ResidualShape


def fitted(z, weight=None):
    return ResidualShape.fit(z, np.ones(len(z)) if weight is None else weight)


def test_the_density_is_that_of_the_mixture():
    shape = ResidualShape(np.array([0.3, 0.7]), np.array([-1.0, 0.5]), np.array([0.4, 1.5]))
    z = np.array([-2.0, 0.0, 3.0])
    expected = 0.3 * stats.norm.pdf(z, -1.0, 0.4) + 0.7 * stats.norm.pdf(z, 0.5, 1.5)
    np.testing.assert_allclose(shape.log_density(z), np.log(expected))
    np.testing.assert_allclose(ResidualShape.gaussian().log_density(z), stats.norm.logpdf(z))
    assert np.all(np.isfinite(shape.log_density(np.array([1e8]))))


@pytest.mark.parametrize("kind", ["gaussian", "heavy tails", "skewed"])
def test_it_is_near_the_distribution_of_the_errors(kind, rng):
    truth = {
        "gaussian": stats.norm(),
        "heavy tails": stats.t(3, scale=1 / np.sqrt(3)),
        "skewed": stats.expon(loc=-1.0),
    }[kind]
    shape, new = fitted(truth.rvs(1000, random_state=rng)), truth.rvs(2000, random_state=rng)
    own, best = np.mean(shape.log_density(new)), np.mean(truth.logpdf(new[truth.pdf(new) > 0]))
    gaussian = np.mean(stats.norm.logpdf(new))
    if kind == "gaussian":
        assert own > gaussian - 0.02
    else:
        assert own > gaussian + 0.5 * (best - gaussian)


def test_it_integrates_to_1_and_few_errors_keep_it_near_a_gaussian():
    shape = fitted(np.full(3, 0.0))
    area = integrate.quad(lambda z: np.exp(shape.log_density(np.array([z])))[0], -20, 20)[0]
    np.testing.assert_allclose(area, 1.0, rtol=1e-6)
    np.testing.assert_allclose(shape.weight.sum(), 1.0)
    assert np.all(shape.log_density(np.array([-2.0, 2.0])) > -6)


def test_each_step_of_em_is_no_step_back(rng):
    z = np.concatenate([rng.normal(size=200), 4 * rng.normal(size=20)])
    shape = fitted(z)
    start = ResidualShape(np.full(4, 0.25), np.zeros(4), np.array([0.4, 0.8, 1.3, 2.5]))
    assert np.sum(shape.log_density(z)) > np.sum(start.log_density(z))
    assert np.sum(shape.log_density(z)) > np.sum(stats.norm.logpdf(z)) + 10


def test_perfect_predictions_make_no_spike():
    shape = fitted(np.zeros(500))
    assert np.all(shape.deviation >= 0.1)
    assert np.all(np.isfinite(shape.log_density(np.array([0.0, 5.0, 1e3]))))


def test_an_error_of_weight_2_is_an_error_given_twice(rng):
    z = rng.normal(size=50)
    weight = np.where(z > 0, 2.0, 1.0)
    merged, whole = fitted(z, weight), fitted(np.concatenate([z, z[z > 0]]))
    for one, other in zip(merged, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rows", [3, 8, 30])
def test_few_rows_have_the_density_of_students_t(rows):
    shape, z = ResidualShape.of_few(rows), np.linspace(-3, 3, 17)
    np.testing.assert_allclose(shape.log_density(z), stats.t(rows).logpdf(z), atol=0.06)
    np.testing.assert_allclose(shape.weight.sum(), 1.0)


def test_an_error_beyond_all_others_counts_as_the_root_of_their_number(rng):
    z = rng.normal(size=49)
    far, farther = (fitted(np.append(z, end)) for end in (np.sqrt(50.0), 1e6))
    np.testing.assert_allclose(far.deviation, farther.deviation)
    assert abs(farther.weight @ farther.centre) < 0.3
