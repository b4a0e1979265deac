"""The training objective of every model: loss + β · divergence.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

The first term is the *risk*, the second the *penalty*. Both are minimised.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import Divergence
from directgp.expectations.base import Expectation
from directgp.likelihoods.base import Likelihood
from directgp.linalg.blocks import rows_a_block, sum_in_blocks
from directgp.losses.base import Integrals, Loss
from directgp.models.base import Conditioned, Model


class Batch(eqx.Module):
    """Training rows; `weight` multiplies the loss of a row and is 1 by default."""

    X: Float[Array, "N D"]
    y: Float[Array, "N *T"]
    """One value per row, or a vector of T outputs, NaN where an output was not measured."""
    weight: Float[Array, "N"]


class Parts(NamedTuple):
    """The two terms of the objective."""

    risk: Float[Array, ""]
    penalty: Float[Array, ""]


class Objective(eqx.Module):
    """Risk + penalty, with the method that computes the expectations under q."""

    loss: Loss
    divergence: Divergence
    expectation: Expectation
    precision: str = eqx.field(static=True, default="float64")

    def __call__(
        self,
        model: Model,
        likelihood: Likelihood,
        batch: Batch,
        *,
        beta: Float[Array, "*L"],
        num_data: Float[Array, ""],
        key: PRNGKeyArray | None,
    ) -> tuple[Float[Array, ""], Parts]:
        """The objective on a batch that stands for `num_data` rows, and its two terms.

        Args:
            model: q(f) and its prior.
            likelihood: p(y | f).
            batch: the rows.
            beta: weight of the divergence, one number or one for each layer.
            num_data: the number of rows that the batch stands for.
            key: for Monte Carlo methods; None where nothing is sampled.
        """
        conditioned = model.condition(self.precision)
        parts, most_rows = (conditioned, likelihood), rows_a_block(conditioned.components)
        total = sum_in_blocks(self.sum_losses, parts, batch, key, most_rows)
        risk = num_data / batch.y.shape[0] * total
        penalty = self.penalty(model, beta)
        return risk + penalty, Parts(risk, penalty)

    def row_losses(
        self, model: Conditioned, likelihood: Likelihood, batch: Batch, key: PRNGKeyArray | None
    ) -> Float[Array, "N *T"]:
        """loss(y_i, q at x_i) of every row, for the same arguments as `sum_losses`."""
        if batch.y.ndim == 2:
            q = model.outputs(batch.X, key)
            return self.loss.of_outputs(likelihood, q, batch.y, self.expectation, key)
        marginals = model.marginals(batch.X, key)
        return self.loss(likelihood, Integrals(batch.y, marginals, self.expectation, key))

    def sum_losses(
        self, model: Conditioned, likelihood: Likelihood, batch: Batch, key: PRNGKeyArray | None
    ) -> Float[Array, ""]:
        """Σ_i weight_i loss(y_i, q at x_i), and over outputs; `model` is already conditioned."""
        losses = self.row_losses(model, likelihood, batch, key)
        weight = batch.weight.reshape(-1, *(1,) * (losses.ndim - 1))
        return jnp.sum(jnp.where(weight > 0, weight * losses, 0.0))

    def penalty(self, model: Model, beta: Float[Array, "*L"]) -> Float[Array, ""]:
        """Σ_layers β_l divergence(q(u_l) ‖ p(u_l)); a single β is used for all layers."""
        layers, terms = model.posteriors_by_layer, []
        for number, posteriors in enumerate(layers):
            divergence = self.divergence.for_layer(number, len(layers))
            terms.append(jnp.sum(jnp.stack([divergence(own) for own in posteriors])))
        return jnp.sum(beta * jnp.stack(terms))
