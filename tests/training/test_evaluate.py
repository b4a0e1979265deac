"""Scoring and predicting in blocks: exact, and a row is never changed by its company."""

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.divergences import KL, WhitenedGaussian
from directgp.expectations import ClosedForm
from directgp.kernels import Matern52
from directgp.likelihoods import Gaussian
from directgp.losses import Direct, LogLoss
from directgp.models import ConstantMean, SparseGP
from directgp.objective import Batch, Objective
from directgp.training.evaluate import Scorer, condition, marginals
from directgp.training.loop import GP


@pytest.fixture
def gp(rng) -> GP:
    posterior = WhitenedGaussian.from_moments(
        jnp.asarray(rng.normal(size=(1, 6))),
        jnp.asarray(np.tril(rng.normal(size=(1, 6, 6)), -1) * 0.1 + 0.5 * np.eye(6)),
    )
    model = SparseGP(Matern52(2.0, [0.7, 1.5]), jnp.asarray(rng.normal(size=(6, 2))), posterior,
                     ConstantMean(0.3))  # fmt: skip
    return GP(model, Gaussian(0.2))


def predict(gp, X):
    return marginals(condition(gp.model, "float64"), X)


def test_blocks_equal_one_evaluation_of_all_rows(gp, rng):
    X = rng.normal(size=(3000, 2))
    blocked, whole = predict(gp, X), gp.model.condition().marginals(jnp.asarray(X))
    assert blocked.mean.shape == blocked.variance.shape == (1, 3000, 1)
    np.testing.assert_allclose(blocked.mean, whole.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(blocked.variance, whole.variance, rtol=0, atol=1e-12)


def test_a_row_alone_equals_the_row_among_others(gp, rng):
    X = rng.normal(size=(3000, 2))
    among = predict(gp, X)
    for row in (0, 1, 1023, 1024, 2047, 2048, 2999):
        alone = predict(gp, X[row : row + 1])
        np.testing.assert_allclose(alone.mean[:, 0], among.mean[:, row], rtol=0, atol=1e-12)
        np.testing.assert_allclose(alone.variance[:, 0], among.variance[:, row], rtol=0, atol=1e-12)


def test_no_rows_give_no_rows(gp):
    assert predict(gp, np.empty((0, 2))).mean.shape == (1, 0, 1)


@pytest.mark.float32_default
def test_float64_whatever_the_users_setting_is(rng):
    model = SparseGP(Matern52(), rng.normal(size=(6, 2)), WhitenedGaussian.prior(6))
    ready = condition(model, "float64")
    assert marginals(ready, rng.normal(size=(3, 2))).mean.dtype == np.float64


def test_the_scorer_gives_the_weighted_mean_loss(gp, rng):
    X, y, weight = rng.normal(size=(30, 2)), rng.normal(size=30), rng.uniform(size=30)
    weight[3] = 0.0
    objective = Objective(Direct(LogLoss()), KL(), ClosedForm())
    score = Scorer(objective, Batch(jnp.asarray(X), jnp.asarray(y), jnp.asarray(weight)))(gp)
    q = predict(gp, X)
    losses = -gp.likelihood.predictive(q.mean, q.variance, q.log_weights).log_density(y)
    assert score == pytest.approx(np.average(losses, weights=weight), rel=1e-10)
