"""EP of one latent function at n rows with simultaneous updates, for learning hyperparameters.

Rasmussen & Williams (2006), section 3.6 and algorithm 5.2, with all sites refined together: a sweep
is one Cholesky factor, where `exact.ep` makes n updates of rank one. Such updates may oscillate, so
they are damped as soon as a sweep changes more than the one before. The derivative is one in the
kernel matrix, so that every kernel can use it.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from directgp.exact.ep import log_mass, matched_site
from directgp.exact.laplace_rows import Evidence, Matrix, Rows, curvature_factor
from directgp.likelihoods.bernoulli import Bernoulli
from directgp.linalg.lapack import potri

_LEAST_SHARE, _LEAST_DAMPING = 1e-12, 0.05


class RowSites(NamedTuple):
    """Precisions and shifts of the sites, and whether they converged."""

    precision: Rows
    shift: Rows
    converged: bool = False


class _Moments(NamedTuple):
    mean: Rows
    variance: Rows
    factor: Matrix


def propagate(
    kernel: Matrix,
    likelihood: Bernoulli,
    start: RowSites | None = None,
    *,
    tolerance: float = 1e-7,
    max_sweeps: int = 200,
) -> RowSites:
    """The sites of EP for rows that are all labelled 1.

    Args:
        kernel: s sᵀ ∘ K, with s = ±1 the labels and K the covariance of f at the rows.
        likelihood: of either link.
        start: sites to start from.
        tolerance: the largest relative change of a site in the last sweep.
        max_sweeps: the maximum number of sweeps.
    """
    zero = np.zeros(len(kernel))
    sites = RowSites(zero, zero) if start is None else start
    refine = _refine(likelihood)
    damping, before = 1.0, np.inf
    for _ in range(max_sweeps):
        q = _moments(kernel, sites)
        new = [np.asarray(part) for part in refine(*_cavity(q, sites))]
        moved = [own - old for own, old in zip(new, sites[:2], strict=True)]
        scale = 1.0 + np.abs(sites.precision) + np.abs(sites.shift)
        change = float(np.max((np.abs(moved[0]) + np.abs(moved[1])) / scale))
        if not np.isfinite(change):
            return sites._replace(converged=False)
        if change > before:
            damping = max(0.7 * damping, _LEAST_DAMPING)
        before = change
        precision, shift = (
            old + damping * step for old, step in zip(sites[:2], moved, strict=True)
        )
        sites = RowSites(np.maximum(precision, 0.0), shift, change <= tolerance)
        if sites.converged:
            break
    return sites


def ep_evidence(kernel: Matrix, likelihood: Bernoulli, sites: RowSites) -> Evidence:
    """−log q(y) and its derivative in the kernel matrix, with fixed sites.

    Args:
        kernel: s sᵀ ∘ K, as in `propagate`.
        likelihood: of either link.
        sites: converged sites.
    """
    q = _moments(kernel, sites)
    tau, nu = sites.precision, sites.shift
    m, s = _cavity(q, sites)
    true_mass = np.asarray(_masses(likelihood, m, s))
    square = (2.0 * m * nu + nu**2 * s - m**2 * tau) / (1.0 + tau * s)
    site_mass = 0.5 * square - 0.5 * np.log1p(tau * s)
    value = 0.5 * nu @ q.mean - np.log(np.diagonal(q.factor)).sum()
    value += float(np.sum(true_mass - site_mass))
    root = np.sqrt(tau)
    lower, _ = potri(q.factor, lower=1)
    r = (np.tril(lower) + np.tril(lower, -1).T) * root * root[:, None]
    b = nu - r @ (kernel @ nu)
    return Evidence(-float(value), 0.5 * (r - np.outer(b, b)))


def _moments(kernel: Matrix, sites: RowSites) -> _Moments:
    root = np.sqrt(sites.precision)
    factor = curvature_factor(kernel, sites.precision)
    half = solve_triangular(factor, root[:, None] * kernel, lower=True, check_finite=False)
    variance = np.diagonal(kernel) - np.einsum("ij,ij->j", half, half)
    mean = kernel @ sites.shift - half.T @ (half @ sites.shift)
    return _Moments(mean, np.maximum(variance, 1e-300), factor)


def _cavity(q: _Moments, sites: RowSites) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
    """Means and variances of f without its own site."""
    share = np.maximum(1.0 - sites.precision * q.variance, _LEAST_SHARE)
    return (q.mean - sites.shift * q.variance) / share, q.variance / share


def _refine(likelihood: Bernoulli):
    return partial(_matched_sites, likelihood)


@eqx.filter_jit
def _matched_sites(likelihood, m, s):
    return jax.vmap(lambda m, s: matched_site(likelihood, m, s))(m, s)


@eqx.filter_jit
def _masses(likelihood, m, s):
    return log_mass(likelihood, m, s)
