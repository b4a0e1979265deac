"""`Independent`: a layer whose outputs have separate kernels and inducing inputs."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model


class Independent(Model):
    """W outputs with separate models, kernels and inducing inputs (`dspp` eq. 12).

    A `SparseGP` with P = W latent functions shares kernel and inducing inputs at 1/W of the cost.
    """

    parts: tuple[Model, ...]

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        """One posterior of all outputs, because they are one layer."""
        moments = [posterior.moments() for part in self.parts for posterior in part.posteriors]
        if len({(mean.shape[1:], scale.shape[1:]) for mean, scale in moments}) > 1:
            raise DirectGPError(
                "the parts of Independent must have equally many inducing inputs, and posteriors "
                "that are all full or all mean-field"
            )
        means, scales = zip(*moments, strict=True)
        return (WhitenedGaussian(jnp.concatenate(means), jnp.concatenate(scales)),)

    @property
    def top_gps(self) -> tuple[Any, ...]:
        return tuple(gp for part in self.parts for gp in part.top_gps)

    @property
    def top_means(self) -> tuple[Any, ...]:
        return tuple(mean for part in self.parts for mean in part.top_means)

    def with_fresh_posterior(self, mean_field: bool) -> Model:
        return Independent(tuple(part.with_fresh_posterior(mean_field) for part in self.parts))

    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        return ConditionedIndependent(tuple(p.condition(precision, form) for p in self.parts))


class ConditionedIndependent(Conditioned):
    """Independent outputs after their factorisations."""

    parts: tuple[Conditioned, ...]

    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        parts = [part.marginals(X, key) for part in self.parts]
        return Marginals(
            jnp.concatenate([part.mean for part in parts], axis=-1),
            jnp.concatenate([part.variance for part in parts], axis=-1),
            parts[0].log_weights,
        )
