"""Orthogonally decoupled sparse GP (Salimbeni, Cheng, Boots & Deisenroth 2018).

More inducing inputs for the mean than for the covariance: f = g + h, where g is the sparse GP at
Z and h, independent of it, has the covariance that Z leaves unexplained:

    C(x, x′) = k(x, x′) − k(x, Z) K_uu⁻¹ k(Z, x′)

h has the whitened inducing variables w at the extra inputs Z⁺, h(Z⁺) = L_C w with L_C L_Cᵀ =
C(Z⁺, Z⁺), and the covariance of the prior: q(w) = N(m⁺, I). With a = L_C⁻ᵀ m⁺ and A = L⁻¹ k(Z, Z⁺),

    μ(x) = k(x, Z⁺) a + k(x, Z) L⁻ᵀ (m − A a),    v(x) as without Z⁺.

So an extra inducing input costs one kernel value per row, not a row of the covariance of q(u).
"""

from typing import Any

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.kernels.base import Kernel
from directgp.linalg.triangular import add_jitter
from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model
from directgp.models.sparse_gp import JITTER, SparseGP
from directgp.parameters import diagonal, lent, unwrap


class DecoupledGP(Model):
    """A sparse GP with `extra` inducing inputs for its mean alone; `weights` is m⁺ [P M⁺]."""

    base: SparseGP
    extra: Any
    weights: Any

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        """q(v), and q(w) = N(m⁺, I), whose KL is ½|m⁺|²."""
        weights = unwrap(self.weights)
        return (*self.base.posteriors, WhitenedGaussian(weights, jnp.ones_like(weights)))

    @property
    def posteriors_by_layer(self) -> tuple[tuple[WhitenedGaussian, ...], ...]:
        return (self.posteriors,)

    @property
    def input_kernel(self) -> Kernel | None:
        return self.base.input_kernel

    @property
    def top_gps(self) -> tuple[Any, ...]:
        return self.base.top_gps

    @property
    def top_means(self) -> tuple[Any, ...]:
        return (*self.base.top_means, self.weights)

    def with_fresh_posterior(self, mean_field: bool) -> "DecoupledGP":
        base = self.base.with_fresh_posterior(mean_field)
        return DecoupledGP(base, lent(self.extra), jnp.zeros_like(unwrap(self.weights)))

    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        base, extra = self.base, unwrap(self.extra)
        kernel, Z, (mean, scale) = base.kernel, unwrap(base.inducing), base.posterior.moments()
        prior = kernel.matrix(extra, extra)
        factor = jnp.linalg.cholesky(add_jitter(kernel.matrix(Z, Z), JITTER))
        across = solve_triangular(factor, kernel.matrix(Z, extra), lower=True)
        # The jitter is relative to the prior variance, because C may be 0.
        jitter = JITTER * jnp.mean(diagonal(prior)) * jnp.eye(len(extra), dtype=prior.dtype)
        left = jnp.linalg.cholesky(prior - across.T @ across + jitter)
        a = solve_triangular(left.T, unwrap(self.weights).T, lower=False)
        posterior = WhitenedGaussian(mean - (across @ a).T, scale)
        shifted = SparseGP(kernel, base.inducing, posterior, base.mean_function)
        return ConditionedDecoupled(shifted.condition(precision, form), unwrap(kernel), extra, a)


class ConditionedDecoupled(Conditioned):
    """A decoupled GP after its factorisations."""

    base: Conditioned
    kernel: Kernel
    extra: Float[Array, "M D"]
    coefficients: Float[Array, "M P"]

    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        q = self.base.marginals(X, key)
        # In float64: coefficients may be large and cancel against those at Z.
        shift = self.kernel.matrix(X.astype(self.extra.dtype), self.extra) @ self.coefficients
        return Marginals(q.mean + shift, q.variance, q.log_weights)
