"""Several outputs by linear coregionalisation: every output mixes the same latent functions.

    f_t(x) = Σ_q A_tq g_q(x),   g ~ any model with Q latent functions

With latent functions that share a kernel this is the intrinsic model, with kernels of their own
(`Independent`) the semiparametric latent factor model of Seeger, Teh & Jordan (2005), which `dspp`
section 5.3 uses.

A batch is whole rows: `outputs` evaluates the latent functions once a row, and all outputs are a
linear map of them. `marginals` is of rows of one output each, (x, number of the output).
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.marginals import Marginals, OutputMarginals
from directgp.models.base import Conditioned, Model
from directgp.models.wrapped import Wrapped
from directgp.parameters import unwrap


class MultiOutput(Wrapped):
    """Mixes the latent functions of `base` by A, called `mixing`.

    For rows of one output each the last input column says which; `levels` are the values of that
    column, one per output, in order. With `with_number` a second latent value, of variance 0,
    passes the output number to the likelihood.
    """

    base: Model
    mixing: Any
    levels: Any
    with_number: bool = eqx.field(static=True, default=False)

    @property
    def inner(self) -> Model:
        return self.base

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

    def outputs(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> OutputMarginals:
        return OutputMarginals(self.base.marginals(X, key), self.mixing, self.with_number)

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
