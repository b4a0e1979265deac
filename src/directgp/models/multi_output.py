"""Several outputs by linear coregionalisation: every output mixes the same latent functions.

    f_t(x) = Σ_q A_tq g_q(x),   g ~ any model with Q latent functions

With latent functions that share a kernel this is the intrinsic model, with kernels of their own
(`Independent`) the semiparametric latent factor model of Seeger, Teh & Jordan (2005), which `dspp`
section 5.3 uses. A row is one observed output: (x, number of the output). So an output that was not
measured is a row that does not exist.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model
from directgp.parameters import unwrap


class MultiOutput(Model):
    """Mixes the latent functions of `base`; the last input column says which output a row is of.

    `levels` are the values of that column, one an output, in order; `mixing` is A. With
    `with_number` a second latent value, without variance, tells the likelihood the output's number.
    """

    base: Model
    mixing: Any
    levels: Any
    with_number: bool = eqx.field(static=True, default=False)

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        return self.base.posteriors

    @property
    def posteriors_by_layer(self) -> tuple[tuple[WhitenedGaussian, ...], ...]:
        return self.base.posteriors_by_layer

    @property
    def depth(self) -> int:
        return self.base.depth

    @property
    def top_gps(self) -> tuple[Any, ...]:
        return self.base.top_gps

    @property
    def top_means(self) -> tuple[Any, ...]:
        return self.base.top_means

    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        base = self.base.condition(precision, form)
        return ConditionedMultiOutput(
            base, unwrap(self.mixing), unwrap(self.levels), self.with_number
        )

    def for_prediction(self) -> Model:
        return MultiOutput(self.base.for_prediction(), self.mixing, self.levels, self.with_number)

    @property
    def components(self) -> int:
        return self.base.components


class ConditionedMultiOutput(Conditioned):
    """A multi-output model ready for batches."""

    base: Conditioned
    mixing: Float[Array, "T Q"]
    levels: Float[Array, "T"]
    with_number: bool = eqx.field(static=True)

    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        q = self.base.marginals(X[:, :-1], key)
        number = jnp.argmin(jnp.abs(X[:, -1:] - self.levels), axis=1)
        own = self.mixing[number]
        mean = jnp.sum(own * q.mean, axis=-1, keepdims=True)
        variance = jnp.sum(own**2 * q.variance, axis=-1, keepdims=True)
        if self.with_number:
            numbers = jnp.broadcast_to(number[:, None].astype(mean.dtype), mean.shape)
            mean = jnp.concatenate([mean, numbers], axis=-1)
            variance = jnp.concatenate([variance, jnp.zeros_like(variance)], axis=-1)
        return Marginals(mean, variance, q.log_weights)

    @property
    def components(self) -> int:
        return self.base.components
