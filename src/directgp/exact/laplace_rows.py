"""Laplace's approximation of one latent function at n rows, for either link, in NumPy.

Rasmussen & Williams (2006), algorithms 3.1 and 5.1, with a constant mean and weights of rows; the
derivative is one in the kernel matrix, so that every kernel can use it. `exact.laplace` is the same
approximation in JAX, for any likelihood and utility.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from directgp.exact.links import LOGISTIC, Link
from directgp.linalg.lapack import potrf, potri

_MOST_STEPS, _MOST_HALVINGS = 50, 12
_LEAST_CURVATURE = 1e-12

Rows = Float[np.ndarray, "N"]
Matrix = Float[np.ndarray, "N N"]


class Mode(NamedTuple):
    """The mode f = level + K α of p(f | y), and the curvature W of −log p(y | f) there."""

    alpha: Rows
    f: Rows
    slope: Rows
    """∇ log p(y | f); equal to α once converged."""
    curvature: Rows
    third: Rows
    """The third derivative of log p(y | f)."""
    objective: float
    """log p(y | f) − ½ αᵀKα."""

    @classmethod
    def at(
        cls, kernel: Matrix, alpha: Rows, sign: Rows, weight: Rows, level: float, link: Link
    ) -> "Mode":
        """Evaluate log density and derivatives at f = level + K α; see `find_mode`."""
        moved = kernel @ alpha
        f = moved + level
        z = sign * f
        return cls(
            alpha,
            f,
            weight * sign * link.slope(z),
            np.maximum(weight * link.curvature(z), _LEAST_CURVATURE),
            weight * sign * link.third(z),
            float(weight @ link.log(z) - 0.5 * alpha @ moved),
        )


def find_mode(
    kernel: Matrix,
    sign: Rows,
    weight: Rows,
    level: float | int,
    start: Rows | None = None,
    tolerance: float = 1e-8,
    link: Link = LOGISTIC,
) -> Mode:
    """The mode of p(f | y) by Newton's method; a step that does not improve is halved.

    Args:
        kernel: K, the covariance of f at the rows.
        sign: +1 for rows of the class, −1 for others.
        weight: of the rows.
        level: the mean of f.
        start: the initial α.
        tolerance: the improvement of the objective at which to stop.
        link: maps f to the probability of the class.
    """
    zero = np.zeros(len(sign))
    here = Mode.at(kernel, zero, sign, weight, level, link)
    if start is not None:
        other = Mode.at(kernel, start, sign, weight, level, link)
        here = other if other.objective > here.objective else here
    for _ in range(_MOST_STEPS):
        root = np.sqrt(here.curvature)
        factor = curvature_factor(kernel, here.curvature)
        b = here.curvature * (here.f - level) + here.slope
        inner = solve_triangular(factor, root * (kernel @ b), lower=True, check_finite=False)
        inner = solve_triangular(factor, inner, lower=True, trans=1, check_finite=False)
        step = b - root * inner - here.alpha
        length = 1.0
        for _ in range(_MOST_HALVINGS):
            there = Mode.at(kernel, here.alpha + length * step, sign, weight, level, link)
            if there.objective >= here.objective:
                break
            length *= 0.5
        else:
            break
        gain, here = there.objective - here.objective, there
        if gain < tolerance:
            break
    return here


def curvature_factor(kernel: Matrix, curvature: Rows) -> Matrix:
    """The lower Cholesky factor of B = I + W^½ K W^½, whose eigenvalues are at least 1.

    Args:
        kernel: K.
        curvature: W.
    """
    root = np.sqrt(curvature)
    b = kernel * root * root[:, None]
    b[np.diag_indices_from(b)] += 1.0
    factor, info = potrf(b, lower=1, overwrite_a=1, clean=1)
    if info:
        raise np.linalg.LinAlgError("I + W^½ K W^½ is not positive definite")
    return factor


def left_out_latents(kernel: Matrix, mode: Mode) -> tuple[Rows, Rows]:
    """Mean and variance of f at every row given the other rows: the cavity of its factor.

    Args:
        kernel: K.
        mode: the mode of all rows.
    """
    root = np.sqrt(mode.curvature)
    half = solve_triangular(
        curvature_factor(kernel, mode.curvature),
        root[:, None] * kernel,
        lower=True,
        check_finite=False,
    )
    prior = np.diagonal(kernel)
    own = np.clip(prior - np.einsum("nb,nb->b", half, half), 1e-12 * prior, prior)
    cavity = 1.0 / np.maximum(1.0 / own - mode.curvature, 1.0 / np.maximum(prior, 1e-300))
    return mode.f - cavity * mode.slope, cavity


class Evidence(NamedTuple):
    """−log q(y) of an approximation, and its derivative in K (symmetric)."""

    value: float
    cotangent: Matrix


def negative_log_evidence(kernel: Matrix, mode: Mode) -> Evidence:
    """−log p(y | f) + ½ αᵀKα + ½ log |B| at the mode, with its total derivative in K.

    Args:
        kernel: K.
        mode: the mode for this K.
    """
    root = np.sqrt(mode.curvature)
    factor = curvature_factor(kernel, mode.curvature)
    value = -mode.objective + float(np.log(np.diagonal(factor)).sum())
    lower, _ = potri(factor, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    r = inverse * root * root[:, None]
    moved = r @ kernel
    variance = np.diagonal(kernel) - np.einsum("ij,ij->j", kernel, moved)
    # The derivative of the log evidence in f; its other terms vanish at the mode.
    by_mode = 0.5 * variance * mode.third
    u = by_mode - moved @ by_mode
    outer = np.outer(u, mode.slope)
    return Evidence(value, -0.5 * (np.outer(mode.alpha, mode.alpha) - r) - 0.5 * (outer + outer.T))
