"""Several outputs by linear coregionalisation: all outputs mix the same latent functions.

    f_t(x) = Σ_q A_tq g_q(x),   g ~ any model with Q latent functions

If the latent functions share a kernel, this is the intrinsic coregionalisation model; with separate
kernels (`Independent`) it is the semiparametric latent factor model of Seeger, Teh & Jordan (2005),
as in `dspp` section 5.3.

Batches are whole rows: `outputs` evaluates the latent functions once per row, and all outputs are a
linear map of them. `marginals` is for rows of one output each, (x, number of the output).
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.marginals import Marginals, OutputMarginals
from directgp.models.base import Conditioned, Model
from directgp.models.wrapped import Wrapped
from directgp.parameters import lent, unwrap


class MultiOutput(Wrapped):
    """The outputs A g, where g are the latent functions of `base` and A is `mixing`.

    For rows of one output each, the last input column has the output; `levels` are the values of
    that column, one per output, in order. With `with_number`, the number of the output is a second
    latent value of variance 0, for `GaussianOutputs`.
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

    def with_fresh_posterior(self, mean_field: bool) -> Model:
        base = self.base.with_fresh_posterior(mean_field)
        return MultiOutput(base, lent(self.mixing), self.levels, self.with_number)

    def for_prediction(self) -> Model:
        return MultiOutput(self.base.for_prediction(), self.mixing, self.levels, self.with_number)

    @property
    def components(self) -> int:
        return self.base.components


class ConditionedMultiOutput(Conditioned):
    """A multi-output model after its factorisations."""

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
