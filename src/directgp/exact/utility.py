"""U_M(v, h) = M − L(v, h): the utility of decisions h given v (`lossem` eq. 7)."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy.special import ndtr
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.tables.checks import check_not_negative


class LogGain(NamedTuple):
    """log E[U_M], its gradient and its Hessian in the mean."""

    log: Float[Array, ""]
    gradient: Float[Array, "M"]
    hessian: Float[Array, "M M"]


class Utility(eqx.Module):
    """log(1 − L/M), L(v, h) = Σ_s w_s c_s Φ(−h_s d_sᵀ v), for decisions h_s = ±1 at test rows.

    L is the risk of `lossem` eq. (12) for a probit model in the transductive setting; c_s is what
    a wrong h_s costs. The constant log M is left out, so that M = ∞ is a constant utility. L is a
    mixture of probits, so its average over a Gaussian v and all derivatives have closed forms;
    loss-calibrated EP is therefore exact in its utility factor.
    """

    rows: Float[Array, "S M"]
    decisions: Float[Array, "S"]
    price: Float[Array, "S"]
    weights: Float[Array, "S"]
    bound: Float[Array, ""]

    def risk(
        self, mean: Float[Array, "M"], covariance: Float[Array, "M M"] | None = None
    ) -> Float[Array, ""]:
        """L(v, h), or its average over v ~ N(mean, covariance).

        Args:
            mean: v, or the mean of its distribution.
            covariance: None for a fixed v.
        """
        z, _ = self._margins(mean, covariance)
        return jnp.sum(self.weights * self.price * ndtr(-z))

    def log(
        self, mean: Float[Array, "M"], covariance: Float[Array, "M M"] | None = None
    ) -> Float[Array, ""]:
        """log(1 − L/M), or the log of its average; see `risk`."""
        return jnp.log1p(-self.risk(mean, covariance) / self.bound)

    def expand(
        self, mean: Float[Array, "M"], covariance: Float[Array, "M M"] | None = None
    ) -> LogGain:
        """`log` with its derivatives; the gradient is the third term of `lossem` eq. (27)."""
        z, spread = self._margins(mean, covariance)
        prices = self.weights * self.price
        risk = jnp.sum(prices * ndtr(-z))
        density = prices * norm.pdf(z)
        slope = self.rows.T @ (density * self.decisions / spread)
        curvature = (self.rows.T * (density * z / spread**2)) @ self.rows
        left = self.bound - risk
        gradient = slope / left
        hessian = -curvature / left - jnp.outer(gradient, gradient)
        return LogGain(jnp.log1p(-risk / self.bound), gradient, hessian)

    def _margins(self, mean, covariance):
        spread = jnp.ones(self.rows.shape[0], self.rows.dtype)
        if covariance is not None:
            spread = jnp.sqrt(1.0 + jnp.sum((self.rows @ covariance) * self.rows, axis=1))
        return self.decisions * (self.rows @ mean) / spread, spread


def check_bound(bound: Any, **prices: Any) -> None:
    """Raise an error for M below the largest cost, for which log U_M is undefined.

    Args:
        bound: M; traced values are not checked.
        **prices: the costs, by name for the error.

    >>> check_bound(1.0, false_positive=0.2, false_negative=5.0)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: bound must be at least the largest cost 5, got 1; use ...
    """
    if any(isinstance(value, Tracer) for value in (bound, *prices.values())):
        return
    largest = max(float(check_not_negative(name, price).max()) for name, price in prices.items())
    if not 0 < float(bound) >= largest:
        raise DirectGPError(
            f"bound must be at least the largest cost {largest:g}, got {float(bound):g}; use "
            f"{largest:g}, or infinity for no utility"
        )


def check_weights(weights: Any) -> None:
    """Raise an error for weights that do not sum to 1; traced values are not checked."""
    if isinstance(weights, Tracer):
        return
    total = float(check_not_negative("weights", weights).sum())
    if not np.isclose(total, 1.0, atol=1e-4):
        raise DirectGPError(f"weights must sum to 1, got {total:g}; divide them by their sum")
