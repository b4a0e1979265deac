"""Sparse Gaussian process with whitened inducing variables (SVGP's model; `dlm` section 2)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.kernels.base import Kernel
from directgp.linalg.moments import MOMENTS
from directgp.linalg.triangular import add_jitter
from directgp.marginals import Marginals, single
from directgp.models.base import Conditioned, Model
from directgp.models.means import MeanFunction, ZeroMean
from directgp.parameters import lent, part, unwrap

JITTER = 1e-6
_LEAST_VARIANCE = {"float64": 1e-10, "mixed": 1e-6, "fast": 1e-6}
_FORMS = {"float64": "projected", "mixed": "whitened", "fast": "whitened"}


class SparseGP(Model):
    """f ~ GP(mean, kernel), q(u) = N(m, V) at M inducing inputs Z.

        μ(x) = mean(x) + k_xu K_uu⁻¹ m,   v(x) = k_xx + k_xu K_uu⁻¹ (V − K_uu) K_uu⁻¹ k_ux

    P latent functions share the kernel and Z. V is full or diagonal in the whitened basis.
    """

    kernel: Kernel = part(rate="fast")
    inducing: Any = part(columns=True)
    posterior: WhitenedGaussian = part(rate="by part")
    mean_function: MeanFunction = eqx.field(default_factory=ZeroMean)

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        return (self.posterior,)

    @property
    def input_kernel(self) -> Kernel:
        return self.kernel

    @property
    def top_gps(self) -> tuple[Any, ...]:
        return (self,)

    @property
    def top_means(self) -> tuple[Any, ...]:
        return (self.posterior.mean,)

    @property
    def ignores_zero_columns(self) -> bool:
        return self.kernel.ignores_zero_columns and self.mean_function.ignores_zero_columns

    def with_fresh_posterior(self, mean_field: bool) -> "SparseGP":
        latents, size = self.posterior.mean.shape
        posterior = WhitenedGaussian.prior(size, latents, mean_field)
        kernel, inducing, mean = lent((self.kernel, self.inducing, self.mean_function))
        return SparseGP(kernel, inducing, posterior, mean)

    def condition(self, precision: str = "float64", form: str = "auto") -> "ConditionedSparseGP":
        """Factor K_uu in float64; see `Model.condition`.

        "mixed" does the [M N] work in float32, for which the whitened and rotated forms are
        accurate enough; "fast" saves one product if V is full, and is less accurate.
        """
        if precision not in _LEAST_VARIANCE:
            known = ", ".join(map(repr, _LEAST_VARIANCE))
            raise DirectGPError(f"precision must be one of {known}, got {precision!r}")
        Z, (mean, scale) = unwrap(self.inducing), self.posterior.moments()
        if form == "auto":
            lifted = precision == "fast" and scale.ndim == 3
            form = "lifted" if lifted else _FORMS[precision]
        in_float32 = precision != "float64"
        if in_float32 and form in ("whitened", "lifted"):
            # Only K_uu needs float64: C and its cotangent are as precise as the float32 features.
            mean, scale = _to_float32((mean, scale))
        factor, _ = MOMENTS[form]
        variance, kernel = self.kernel.without_variance()
        parts = factor(add_jitter(kernel.matrix(Z, Z), JITTER), mean, scale)
        rest = unwrap((kernel, self.mean_function, Z))
        if in_float32:
            parts, rest = _to_float32((parts, rest))
        kernel, mean_function, Z = rest
        return ConditionedSparseGP(
            variance, kernel, mean_function, Z, parts, form, _LEAST_VARIANCE[precision]
        )


class ConditionedSparseGP(Conditioned):
    """A sparse GP after its factorisations: a batch needs k(Z, X) and a product or two.

    The variance of the kernel is a separate factor: L, and so A = L⁻¹K, is proportional to its
    root.
    """

    kernel_variance: Any
    kernel: Kernel
    mean_function: MeanFunction
    inducing: Float[Array, "M D"]
    parts: Any
    form: str = eqx.field(static=True)
    least_variance: float = eqx.field(static=True)

    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        X = X.astype(self.inducing.dtype)
        _, moments_of = MOMENTS[self.form]
        moments = moments_of(self.parts, self.kernel.matrix(self.inducing, X))
        prior = self.kernel.diagonal(X)
        unscaled = jnp.maximum(prior + moments.variance_change, self.least_variance * prior)
        mean = jnp.sqrt(self.kernel_variance) * moments.mean.T.astype(jnp.float64)
        variance = self.kernel_variance * unscaled.T.astype(jnp.float64)
        return single(mean + self.mean_function(X), variance)


def _to_float32(tree):
    return jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if eqx.is_inexact_array(leaf) else leaf, tree
    )
