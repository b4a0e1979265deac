"""A layer whose outputs have kernels and inducing inputs of their own."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model


class Independent(Model):
    """W outputs, each a model of its own: own kernel, own inducing inputs (`dspp` eq. 12).

    A `SparseGP` with P = W latent functions shares both, which costs W times less.
    """

    parts: tuple[Model, ...]

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        """One posterior of all outputs together, because they are one layer."""
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

    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        return ConditionedIndependent(tuple(p.condition(precision, form) for p in self.parts))


class ConditionedIndependent(Conditioned):
    """Independent outputs ready for batches."""

    parts: tuple[Conditioned, ...]

    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        parts = [part.marginals(X, key) for part in self.parts]
        return Marginals(
            jnp.concatenate([part.mean for part in parts], axis=-1),
            jnp.concatenate([part.variance for part in parts], axis=-1),
            parts[0].log_weights,
        )
