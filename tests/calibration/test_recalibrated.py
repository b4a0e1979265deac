"""The distribution that decisions use after a calibration."""

import numpy as np
import pytest

from directgp.calibration import Calibration, Recalibrated
from directgp.decisions import NewsvendorCost, decide
from directgp.errors import WrongType
from directgp.likelihoods import PoissonExp
from directgp.predictive import ClassProbabilities, GaussianMixture


def normal(count, std=1.0, mean=0.0):
    shape = (1, count)
    return GaussianMixture(np.full(shape, mean), np.full(shape, std**2), np.zeros(1))


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(0).normal(1.0, 2.0, size=199)


def test_its_quantiles_are_the_conformal_ones(truth):
    """At i/(n + 1) the i-th smallest of the rows: all rows have the same prediction here."""
    made = Calibration.of(normal(199), truth).distribution(normal(1))
    ordered = np.sort(truth)
    found = made.quantile([0.05, 0.5, 0.95])[0]
    assert np.allclose(found, ordered[[9, 99, 189]], atol=1e-7)


def test_density_cdf_and_survival_belong_together(truth):
    made = Calibration.of(normal(199, 1.5), truth).distribution(normal(1, 1.5))
    grid = np.linspace(-5.0, 7.0, 301)
    many = Calibration.of(normal(199, 1.5), truth).distribution(normal(len(grid), 1.5))
    slope = (many.cdf(grid + 1e-7) - many.cdf(grid - 1e-7)) / 2e-7
    close = np.isclose(np.exp(many.log_prob(grid)), slope, rtol=1e-5)
    assert close.mean() > 0.98  # but where the slope itself changes
    assert np.allclose(many.cdf(grid) + many.survival(grid), 1.0, atol=1e-12)
    assert np.all(np.diff(many.cdf(grid)) >= 0)
    drawn = made.sample(200, seed=0)[:, 0]
    assert np.mean(drawn) == pytest.approx(made.mean[0], abs=4 * np.std(drawn) / np.sqrt(200))
    assert np.std(drawn) == pytest.approx(made.std[0], rel=0.25)


def test_without_rows_of_its_group_a_row_keeps_the_model(truth):
    made = Calibration.of(normal(199), truth, groups=["a"] * 199)
    own = made.distribution(normal(2), groups=["a", "b"])
    assert own.median[1] == pytest.approx(0.0, abs=1e-9)
    assert own.median[0] == pytest.approx(np.median(truth), abs=1e-6)
    assert own[1].quantile(0.9)[0] == pytest.approx(normal(1).quantile(0.9)[0])


def test_counts_stay_counts():
    f = np.full((1, 60, 1), 1.0)
    model = PoissonExp().predictive(f, np.full_like(f, 0.05), np.zeros(1))
    y = np.random.default_rng(1).poisson(6.0, size=60).astype(float)
    made = Calibration.of(model, y).distribution(model)[0]
    masses = np.exp([made.log_prob(float(k))[0] for k in range(40)])
    assert masses.sum() == pytest.approx(1.0, abs=1e-6)
    assert masses @ np.arange(40) == pytest.approx(np.mean(y), abs=0.6)
    assert made.log_prob(1.5)[0] == -np.inf


def test_a_decision_by_an_overconfident_model_costs_less_once_calibrated(truth):
    cost = NewsvendorCost(under=9, over=1)
    new = np.random.default_rng(2).normal(1.0, 2.0, size=400)
    plain = decide(normal(400, 1.0), cost)
    made = Calibration.of(normal(199, 1.0), truth).distribution(normal(400, 1.0))
    assert decide(made, cost).realised(new).mean() < 0.8 * plain.realised(new).mean()
    told = decide(made, cost).expected_cost[0]
    assert told == pytest.approx(decide(made, cost).realised(new).mean(), rel=0.15)


def test_classes_have_no_cdf_to_recalibrate():
    p = ClassProbabilities(np.log([[0.5, 0.5]]))
    with pytest.raises(WrongType, match="cannot be recalibrated"):
        Recalibrated(p, [], np.zeros(1, dtype=int))
    assert Calibration.of(p, np.zeros(1)).distribution(p) is p
