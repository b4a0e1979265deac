"""Scoring and predicting in blocks: exact, and a row is never changed by its company."""

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.divergences import KL, WhitenedGaussian
from directgp.expectations import ClosedForm
from directgp.kernels import Matern52
from directgp.likelihoods import Gaussian
from directgp.losses import Direct, LogLoss
from directgp.models import (
    MLP,
    ConstantMean,
    LinearMean,
    MultiOutput,
    OnFeatures,
    SparseGP,
    deep_gp,
    deep_sigma_points,
)
from directgp.objective import Batch, Objective
from directgp.training.evaluate import Scorer, condition, marginals, rows_at_a_time
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
    losses = -gp.likelihood.predictive(q.mean, q.variance, q.log_weights).log_prob(y)
    assert score == pytest.approx(np.average(losses, weights=weight), rel=1e-10)


def layers(rng):
    def layer(inputs, outputs, mean):
        posterior = WhitenedGaussian.from_moments(
            jnp.asarray(rng.normal(size=(outputs, 5))), jnp.full((outputs, 5), 0.6)
        )
        return SparseGP(Matern52(), jnp.asarray(rng.normal(size=(5, inputs))), posterior, mean)

    return layer(2, 2, LinearMean(np.eye(2))), layer(2, 1, ConstantMean(0.3))


@pytest.mark.parametrize("count", [3, 50])
def test_a_deep_row_is_the_same_to_the_bit_in_any_company(count, rng):
    """At any place in a block, and with any rows beside it, or none."""
    model = deep_gp(layers(rng), samples=2, predict_samples=count)
    ready, size = condition(model, "float64"), rows_at_a_time(count)
    X = rng.normal(size=(3 * size + 5, 2))
    among = marginals(ready, X)
    assert among.mean.shape == (count, len(X), 1) and size * count <= 2048
    backwards = marginals(ready, X[::-1])
    np.testing.assert_array_equal(backwards.mean[:, ::-1], among.mean)
    np.testing.assert_array_equal(backwards.variance[:, ::-1], among.variance)
    for row in (0, 1, size - 1, size, len(X) - 1):
        alone = marginals(ready, X[row : row + 1])
        np.testing.assert_array_equal(alone.mean[:, 0], among.mean[:, row])
        np.testing.assert_array_equal(alone.variance[:, 0], among.variance[:, row])


def test_every_model_knows_how_many_components_it_has(gp, rng):
    samples = deep_gp(layers(rng), samples=2, predict_samples=7)
    grid = deep_sigma_points(layers(rng), (2,), sites=3, quadrature="qr1")
    outputs = MultiOutput(grid, jnp.ones((2, 1)), jnp.asarray([0.0, 1.0]))
    features = OnFeatures(MLP.start(rng.normal(size=(9, 2)), (4, 2), 0), samples)
    one_layer = deep_sigma_points(layers(rng)[:1], ())
    for model, training, predicting in (
        (gp.model, 1, 1), (samples, 2, 7), (grid, 9, 9), (outputs, 9, 9), (features, 2, 7),
        (one_layer, 1, 1),
    ):  # fmt: skip
        assert model.components == training
        assert model.for_prediction().components == predicting
