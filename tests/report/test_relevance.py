"""Relevance behind layers: slopes are those of the prediction itself."""

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.divergences import WhitenedGaussian
from directgp.kernels import Matern52
from directgp.models import LinearMean, MultiOutput, SparseGP, deep_sigma_points
from directgp.report.relevance import (
    LENGTH_SCALES,
    SLOPES,
    mean_slopes,
    relevance,
    relevance_means,
    typical_rows,
)
from directgp.training.evaluate import condition, marginals

WEIGHTS = np.array([[1.0], [0.0], [-0.5]])


def model():
    """Two layers; the inner one passes on x₀ − x₂/2 and nearly nothing else."""
    rng = np.random.default_rng(0)
    inner = SparseGP(
        Matern52(1e-6, np.ones(3)),
        jnp.asarray(rng.normal(size=(6, 3))),
        WhitenedGaussian.prior(6, 1, True, 0.05),
        LinearMean(WEIGHTS),
    )
    posterior = WhitenedGaussian(jnp.asarray(rng.normal(size=(1, 5))), jnp.full((1, 5), 0.3))
    outer = SparseGP(Matern52(1.0, np.ones(1)), jnp.asarray(rng.normal(size=(5, 1))), posterior)
    return deep_sigma_points((inner, outer), (1,), sites=3)


def test_slopes_are_those_of_the_predicted_mean():
    deep, rows = model(), np.random.default_rng(1).normal(size=(20, 3))
    ready, small = condition(deep, "float64"), 1e-5

    def mean(X):
        q = marginals(ready, X)
        return np.tensordot(np.exp(q.log_weights), q.mean[..., 0], axes=1)

    steps = small * np.eye(3)
    numeric = [np.mean(np.abs(mean(rows + s) - mean(rows - s))) / (2 * small) for s in steps]
    np.testing.assert_allclose(mean_slopes(deep, rows), numeric, rtol=1e-3, atol=1e-6)
    shares = relevance(deep, ["a", "b", "c"], rows)
    assert list(shares) == ["a", "c", "b"]
    assert shares["a"] == pytest.approx(2 * shares["c"], rel=0.01)
    assert relevance_means(deep) == SLOPES


def test_without_rows_the_inducing_inputs_serve():
    deep = model()
    np.testing.assert_array_equal(typical_rows(deep), np.asarray(deep.layers[0].inducing))
    outputs = MultiOutput(deep, jnp.ones((2, 1)), jnp.array([-1.0, 1.0]))
    rows = typical_rows(outputs)
    assert rows.shape == (12, 4) and set(rows[:, -1]) == {-1.0, 1.0}
    assert next(iter(relevance(outputs, ["a", "b", "c"]))) == "a"


def test_one_kernel_tells_by_its_length_scales():
    assert relevance_means(model().layers[0]) == LENGTH_SCALES
