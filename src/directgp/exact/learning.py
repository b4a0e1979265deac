"""Learning the kernel of an exact GP classifier: L-BFGS on the evidence as a function of K.

An approximation gives −log q(y) and its derivative in the n × n kernel matrix, in NumPy; the kernel
takes that derivative back to its own parameters, in JAX. Each evaluation starts from the sites or
the mode of the one before.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from directgp.exact.ep_rows import RowSites, ep_evidence, propagate
from directgp.exact.finite import JITTER
from directgp.exact.laplace_rows import Evidence, Matrix, find_mode, negative_log_evidence
from directgp.exact.links import LOGISTIC, PROBIT
from directgp.kernels import Kernel
from directgp.likelihoods.bernoulli import Bernoulli, BernoulliProbit
from directgp.linalg.optimise import minimize
from directgp.linalg.triangular import add_jitter
from directgp.parameters import on_device, split_trainable, unwrap
from directgp.registry import Registry

FAILED = 1e10
"""Objective value returned to the line search where the evidence cannot be computed."""
_TOLERANCE = 1e-5
"""Tolerance of EP sites while learning; the error of the evidence is of second order in it."""
_REACH = 6.0
"""Maximum change of a log parameter from its start."""


class RowEvidence(NamedTuple):
    """−log q(y) with its derivative in K, and a state to warm-start the next evaluation."""

    evidence: Evidence
    state: Any


RowApproximation = Callable[[Matrix, Bernoulli, Any], RowEvidence]
"""(s sᵀ ∘ K, likelihood, state or None) → evidence, for rows that are then all labelled 1."""

row_approximations = Registry("approximation by rows")


@row_approximations.register("laplace")
def _laplace() -> RowApproximation:
    def evidence(kernel: Matrix, likelihood: Bernoulli, state: Any) -> RowEvidence:
        one = np.ones(len(kernel))
        link = PROBIT if isinstance(likelihood, BernoulliProbit) else LOGISTIC
        mode = find_mode(kernel, one, one, 0.0, state, tolerance=1e-10, link=link)
        return RowEvidence(negative_log_evidence(kernel, mode), mode.alpha)

    return evidence


@row_approximations.register("ep")
def _ep() -> RowApproximation:
    def evidence(kernel: Matrix, likelihood: Bernoulli, state: Any) -> RowEvidence:
        sites = propagate(kernel, likelihood, state, tolerance=_TOLERANCE)
        return RowEvidence(ep_evidence(kernel, likelihood, sites), sites)

    return evidence


class _KernelOfNumbers(NamedTuple):
    """K as a function of the kernel's flattened parameters, and its derivative."""

    matrix: Callable[[Any], Any]
    pull_back: Callable[[Any, Any], Any]


def learn_kernel(
    kernel: Kernel,
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    likelihood: Bernoulli,
    method: str,
    max_steps: int,
) -> Kernel:
    """The kernel that maximises the approximate log marginal likelihood.

    Args:
        kernel: to start from.
        X: standardised inputs.
        y: labels, 0 or 1.
        likelihood: of either link.
        method: a name of `row_approximations`.
        max_steps: of L-BFGS.
    """
    learned, fixed = split_trainable(kernel)
    start, unravel = ravel_pytree(learned)
    approximate = row_approximations.create(method)
    sign = 2.0 * np.asarray(y) - 1.0
    inputs = on_device(X)

    def matrix(numbers):
        own = unwrap(eqx.combine(unravel(numbers), fixed))
        return add_jitter(own.matrix(inputs, inputs), JITTER)

    def pull_back(numbers, cotangent):
        return jax.vjp(matrix, numbers)[1](cotangent)[0]

    of = _KernelOfNumbers(jax.jit(matrix), jax.jit(pull_back))
    state: list[Any] = [None]

    def objective(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        signed = np.array(of.matrix(on_device(numbers))) * sign * sign[:, None]
        try:
            found, state[0] = approximate(signed, likelihood, state[0])
        except np.linalg.LinAlgError:
            state[0] = None
            return FAILED, np.zeros_like(numbers)
        cotangent = on_device(found.cotangent * sign * sign[:, None])
        gradient = np.asarray(of.pull_back(on_device(numbers), cotangent))
        if not (np.isfinite(found.value) and np.all(np.isfinite(gradient))):
            state[0] = None
            return FAILED, np.zeros_like(numbers)
        return found.value, gradient

    return eqx.combine(unravel(on_device(minimised(objective, start, max_steps))), fixed)


def minimised(objective: Callable[..., Any], start: Any, max_steps: int) -> np.ndarray:
    """Minimise by L-BFGS; parameters stay within a factor e⁶ of their start.

    Args:
        objective: value and gradient as a function of log parameters.
        start: the initial log parameters.
        max_steps: L-BFGS steps.
    """
    first = np.asarray(start)
    bounds = [(value - _REACH, value + _REACH) for value in first]
    options: dict[str, Any] = {"maxiter": max_steps, "ftol": 1e-7}
    found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


def row_sites(
    kernel: Kernel, X: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N"], likelihood: Bernoulli
) -> RowSites:
    """The sites of EP by rows, as a start of `exact.ep`.

    Args:
        kernel: the kernel of the exact GP.
        X: inputs.
        y: classes, 0 or 1.
        likelihood: with its link.
    """
    inputs, sign = on_device(X), 2.0 * np.asarray(y) - 1.0
    matrix = add_jitter(unwrap(kernel).matrix(inputs, inputs), JITTER)
    return propagate(np.array(matrix) * sign * sign[:, None], likelihood)
