"""The training objective of every model: risk + β · divergence.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

The first term is the *risk*, the second the *penalty*. Everything is minimised.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import Divergence
from directgp.expectations.base import Expectation
from directgp.likelihoods.base import Likelihood
from directgp.linalg.blocks import blocked_sum, num_blocks, rows_a_block, to_blocks
from directgp.losses.base import Integrals, Loss
from directgp.models.base import Conditioned, Model


class Batch(eqx.Module):
    """Rows to learn from; `weight` multiplies a row's loss (1 unless the user says otherwise)."""

    X: Float[Array, "N D"]
    y: Float[Array, "N *T"]
    """One value a row, or a vector of T outputs; NaN is an output that was not measured."""
    weight: Float[Array, "N"]


class Parts(NamedTuple):
    """The two terms of the objective."""

    risk: Float[Array, ""]
    penalty: Float[Array, ""]


class Objective(eqx.Module):
    """Loss + β·divergence, with the way its integrals are done."""

    loss: Loss
    divergence: Divergence
    expectation: Expectation
    precision: str = eqx.field(static=True, default="float64")

    def row_losses(
        self, model: Conditioned, likelihood: Likelihood, batch: Batch, key: PRNGKeyArray | None
    ) -> Float[Array, "N *T"]:
        """loss(y_i, q at x_i) of every row; where y_i is a vector, see `Loss.of_outputs`.

        Args:
            model: conditioned on its inducing points.
            likelihood: p(y | f).
            batch: the rows.
            key: for random numbers, where there are any.
        """
        if batch.y.ndim == 2:
            q = model.outputs(batch.X, key)
            return self.loss.of_outputs(likelihood, q, batch.y, self.expectation, key)
        marginals = model.marginals(batch.X, key)
        return self.loss(likelihood, Integrals(batch.y, marginals, self.expectation, key))

    def sum_losses(
        self, model: Conditioned, likelihood: Likelihood, batch: Batch, key: PRNGKeyArray | None
    ) -> Float[Array, ""]:
        """Σ_i weight_i loss(y_i, q at x_i), summed over the outputs where they have their own.

        Args:
            model: conditioned on its inducing points.
            likelihood: p(y | f).
            batch: the rows.
            key: for random numbers, where there are any.
        """
        losses = self.row_losses(model, likelihood, batch, key)
        weight = batch.weight.reshape(-1, *(1,) * (losses.ndim - 1))
        return jnp.sum(jnp.where(weight > 0, weight * losses, 0.0))

    def penalty(self, model: Model, beta: Float[Array, "*L"]) -> Float[Array, ""]:
        """Σ_layers β_l divergence(q(u_l) ‖ p(u_l)); a single β serves all layers."""
        layers = model.posteriors_by_layer
        own = [self.divergence.for_layer(index, len(layers)) for index in range(len(layers))]
        terms = [
            jnp.sum(jnp.stack([divergence(posterior) for posterior in posteriors]))
            for divergence, posteriors in zip(own, layers, strict=True)
        ]
        return jnp.sum(beta * jnp.stack(terms))

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
            key: for random numbers, where there are any.
        """
        num_rows = batch.y.shape[0]
        conditioned = model.condition(self.precision)
        block = rows_a_block(conditioned.components)
        if num_rows <= block:
            total = self.sum_losses(conditioned, likelihood, batch, key)
        else:
            keys = None if key is None else jax.random.split(key, num_blocks(num_rows, block))
            total = blocked_sum(
                lambda parts, rows: self.sum_losses(*parts, *rows),
                (conditioned, likelihood),
                (to_blocks(batch, block), keys),
            )
        risk = num_data / num_rows * total
        penalty = self.penalty(model, beta)
        return risk + penalty, Parts(risk, penalty)
