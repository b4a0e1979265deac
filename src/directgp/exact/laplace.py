"""Laplace's approximation: a Gaussian at the mode with the curvature there, for any `LogDensity`.

For log-concave targets Newton's method converges from any start. Otherwise (with a utility, or
residuals averaged over a few points) the Hessian may be indefinite far from the mode, and steps use
the curvature of a log-concave factor instead.
"""

from typing import NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float

from directgp.exact.posterior import Posterior
from directgp.exact.target import LogDensity

T = TypeVar("T")
_SMALLEST_STEP = 1e-6


def laplace(
    target: LogDensity,
    start: Float[Array, "M"] | None = None,
    *,
    tolerance: float = 1e-9,
    max_steps: int = 60,
) -> Posterior:
    """N(v̂, H⁻¹) at the mode v̂ of the target, and log q(y) = log p̃(v̂) − ½ log |H|.

    Differentiable in the parameters of the target: a Newton step from the fixed mode has the
    implicit derivative of the mode.

    Args:
        target: the density to approximate.
        start: the initial v; None is 0.
        tolerance: the largest step at convergence.
        max_steps: the maximum number of Newton steps.
    """
    fixed = without_derivative(target)
    found = newton(fixed, start, tolerance=tolerance, max_steps=max_steps)
    factor = _factor(fixed, fixed.derivatives(found.mode).hessian, found.mode)
    mode = found.mode - cho_solve((factor, True), target.derivatives(found.mode).gradient)
    at_mode = target.derivatives(mode)
    factor = _factor(target, at_mode.hessian, mode)
    covariance = cho_solve((factor, True), jnp.eye(mode.shape[0], dtype=mode.dtype))
    log_determinant = 2.0 * jnp.sum(jnp.log(jnp.diag(factor)))
    log_evidence = -at_mode.value - 0.5 * log_determinant
    return Posterior(mode, covariance, log_evidence, found.steps, found.converged)


class Mode(NamedTuple):
    """The last point of Newton's method, the number of steps, and whether it converged."""

    mode: Float[Array, "M"]
    steps: Float[Array, ""]
    converged: Bool[Array, ""]


def newton(
    target: LogDensity, start: Float[Array, "M"] | None, *, tolerance: float, max_steps: int
) -> Mode:
    """The mode of the target, by damped Newton steps.

    Args:
        target: the density to maximise.
        start: the initial v; None is 0.
        tolerance: the largest step at convergence.
        max_steps: the maximum number of Newton steps.
    """
    dtype = target.dtype
    v = jnp.zeros(target.size, dtype) if start is None else start

    def unfinished(state):
        _, _, residual, steps = state
        return (residual > tolerance) & (steps < max_steps)

    def improve(state):
        v, _, _, steps = state
        here = target.derivatives(v)
        factor = _factor(target, here.hessian, v)
        direction = -cho_solve((factor, True), here.gradient)
        promised = here.gradient @ direction

        def too_long(length):
            value = target.value(v + length * direction)
            enough = value <= here.value + 1e-4 * length * promised + 1e-12 * jnp.abs(here.value)
            return ~enough & (length > _SMALLEST_STEP)

        length = lax.while_loop(too_long, lambda length: 0.5 * length, jnp.ones((), dtype))
        return v + length * direction, length, jnp.max(jnp.abs(direction)), steps + 1.0

    first = (v, jnp.ones((), dtype), jnp.full((), jnp.inf, dtype), jnp.zeros((), dtype))
    v, _, residual, steps = lax.while_loop(unfinished, improve, first)
    return Mode(v, steps, residual <= tolerance)


def _factor(target: LogDensity, hessian: Array, v: Array) -> Array:
    """Cholesky factor of the Hessian, or of its log-concave part where it is indefinite."""
    factor = jnp.linalg.cholesky(hessian)
    if target.log_concave:
        return factor
    safe = jnp.linalg.cholesky(target.certain.derivatives(v).hessian)
    return jnp.where(jnp.all(jnp.isfinite(factor)), factor, safe)


def without_derivative(target: T) -> T:
    """The target with `stop_gradient` on all its arrays."""
    arrays, rest = eqx.partition(target, eqx.is_inexact_array)
    return eqx.combine(lax.stop_gradient(arrays), rest)
