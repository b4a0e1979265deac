"""Statistics of sampled gradients: direction, size and bias (`dlm` Fig. 1 g, h)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, PRNGKeyArray, PyTree

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation
from directgp.likelihoods.base import Likelihood
from directgp.models.base import Model
from directgp.objective import Batch, Objective
from directgp.parameters import float64, split_trainable


class GradientStatistics(NamedTuple):
    """Repeated estimates ĝ of a gradient g, against the reference g.

    `direction` and `size` have one value per repetition. Proposition 2 of `dlm` requires
    c₁‖g‖² ≤ gᵀĝ (i) and ‖ĝ‖ ≤ c₂‖g‖ (ii); both ratios are 1 for ĝ = g. `bias` and `standard_error`
    have one value per parameter.
    """

    direction: Float[np.ndarray, "R"]
    size: Float[np.ndarray, "R"]
    bias: Float[np.ndarray, "D"]
    standard_error: Float[np.ndarray, "D"]
    reference: Float[np.ndarray, "D"]

    @property
    def relative_bias(self) -> float:
        """‖mean ĝ − g‖ / ‖g‖, about `noise_level` for an unbiased ĝ."""
        return float(np.linalg.norm(self.bias) / np.linalg.norm(self.reference))

    @property
    def noise_level(self) -> float:
        """The expected `relative_bias` of an unbiased ĝ."""
        return float(np.linalg.norm(self.standard_error) / np.linalg.norm(self.reference))


def _everything(model: PyTree, likelihood: PyTree) -> PyTree:
    return model, likelihood


@float64
def gradient_statistics(
    model: Model,
    likelihood: Likelihood,
    objective: Objective,
    batch: Batch,
    *,
    beta: float,
    num_data: int,
    reference: Expectation,
    repeats: int,
    key: PRNGKeyArray,
    where: Callable[[Any, Any], PyTree] = _everything,
) -> GradientStatistics:
    """Statistics of the gradient of `objective` on one batch over `repeats` random keys.

    Args:
        model: at the parameters where gradients are taken.
        likelihood: p(y | f).
        objective: with the random expectation.
        batch: the rows.
        beta: the weight of the divergence.
        num_data: the number of rows that the batch represents.
        reference: the expectation of the true gradient: a closed form, quadrature or very many
            samples.
        repeats: the number of repetitions.
        key: the random key.
        where: selects parameters of (model, likelihood); in the paper
            ``lambda model, likelihood: model.posterior.mean``.
    """
    if repeats < 2:
        raise DirectGPError(f"gradient_statistics needs at least 2 repeats, got {repeats}; use 100")
    true_key, *keys = jax.random.split(key, repeats + 1)
    exact = eqx.tree_at(lambda parts: parts.expectation, objective, reference)
    setting = (jnp.asarray(beta, jnp.float64), jnp.asarray(num_data, jnp.float64))
    truth = _gradients(exact, model, likelihood, batch, setting, true_key[None], where)[0]
    estimates = _gradients(objective, model, likelihood, batch, setting, jnp.stack(keys), where)
    length = np.linalg.norm(truth)
    if length == 0.0:
        raise DirectGPError("the reference gradient is zero, so nothing can be relative to it")
    return GradientStatistics(
        direction=estimates @ truth / length**2,
        size=np.linalg.norm(estimates, axis=1) / length,
        bias=estimates.mean(axis=0) - truth,
        standard_error=estimates.std(axis=0, ddof=1) / np.sqrt(repeats),
        reference=truth,
    )


def _gradients(objective, model, likelihood, batch, setting, keys, where) -> np.ndarray:
    """One flattened gradient per key, [R D]."""
    return np.asarray(_compiled(objective, model, likelihood, batch, setting, keys, where))


@eqx.filter_jit
def _compiled(objective, model, likelihood, batch, setting, keys, where):
    learned, fixed = split_trainable((model, likelihood))
    beta, num_data = setting

    def value(learned, key):
        whole = eqx.combine(learned, fixed)
        return objective(*whole, batch, beta=beta, num_data=num_data, key=key)[0]

    def gradient(key):
        return ravel_pytree(where(*jax.grad(value)(learned, key)))[0]

    return lax.map(gradient, keys)
