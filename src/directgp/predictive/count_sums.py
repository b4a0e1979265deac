"""Sums over long ranges of whole numbers from a few real nodes, to about ten digits.

A Gauss rule with n nodes for the discrete measure Σ_{k=0}^{N−1} δ_k, whose orthogonal polynomials
are those of Gram (discrete Chebyshev), is exact for polynomials of degree 2n − 1. For N → ∞ it is
Gauss–Legendre, for N ≤ n the plain sum.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

_NODES = 16
_TOLERANCE = 1e-12
_LARGEST = 4096  # beyond, nodes and weights are linear in 1/N² to 1e-15
_MOST_SPLITS = 60
_BLOCK = 32_768


class Rule(NamedTuple):
    """Nodes in [0, 1] (times N − 1), weights that sum to 1, and the two highest coefficients."""

    nodes: Float[np.ndarray, "n *B"]
    weights: Float[np.ndarray, "n *B"]
    last: Float[np.ndarray, "2 n *B"]


@lru_cache(maxsize=8192)
def _gram(count: int) -> Rule:
    """The rule for `count` numbers; 0 stands for infinitely many."""
    if 0 < count <= _NODES:
        nodes = np.minimum(np.arange(_NODES), count - 1) / max(count - 1, 1)
        return Rule(nodes, (np.arange(_NODES) < count) / count, np.zeros((2, _NODES)))
    j = np.arange(1, _NODES)
    if count:
        width, beta = count - 1.0, j**2 * (1.0 - (j / count) ** 2) / (4.0 * (4.0 * j**2 - 1.0))
        beta = beta * (count / width) ** 2
    else:
        beta = j**2 / (4.0 * (4.0 * j**2 - 1.0))
    jacobi = np.diag(np.full(_NODES, 0.5)) + np.diag(np.sqrt(beta), 1) + np.diag(np.sqrt(beta), -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    vectors = vectors * np.sign(vectors[0])
    return Rule(nodes, vectors[0] ** 2, vectors[0] * vectors[-2:])


def _rules(counts: Int[np.ndarray, "B"]) -> Rule:
    """The rule of each count, stacked on the last axis."""
    distinct, place = np.unique(np.minimum(counts, _LARGEST), return_inverse=True)
    rules = [_gram(int(count)) for count in distinct]
    found = [np.stack(part, axis=-1)[..., place] for part in zip(*rules, strict=True)]
    long = np.flatnonzero(counts > _LARGEST)
    if long.size:
        share = (_LARGEST / counts[long].astype(np.float64)) ** 2
        limit, largest = _gram(0), _gram(_LARGEST)
        # In units of N rather than N − 1, both nodes and weights are even in 1/N.
        scale = (counts[long] - 1.0) / counts[long]
        at_largest = 0.5 + (largest.nodes - 0.5) * (_LARGEST - 1.0) / _LARGEST
        nodes = limit.nodes[:, None] + share * (at_largest - limit.nodes)[:, None]
        found[0][:, long] = 0.5 + (nodes - 0.5) / scale
        found[1][:, long] = (
            limit.weights[:, None] + share * (largest.weights - limit.weights)[:, None]
        )
    return Rule(*found)


def sum_over_counts(
    function: Callable[[Int[np.ndarray, "B"], Float[np.ndarray, "n B"]], Float[np.ndarray, "n B"]],
    first: Float[np.ndarray, "P"],
    stop: Float[np.ndarray, "P"],
    scale: Float[np.ndarray, "P"],
) -> Float[np.ndarray, "P"]:
    """Σ_{first ≤ k < stop} g(k) for P ranges, which are split until g is smooth on each part.

    Args:
        function: g at real k, `function(ranges, k)`; between 0 and 1 and without narrow peaks (a
            power of a cdf), so that its values at a few nodes indicate its smoothness.
        first: the start of each range.
        stop: its end, exclusive.
        scale: the absolute error of a range is about 1e-10 times this.
    """
    total = np.zeros(first.size)
    runs = np.flatnonzero(stop > first)
    left, right = first[runs], stop[runs]
    for _ in range(_MOST_SPLITS):
        if runs.size == 0:
            break
        failed = np.zeros(runs.size, dtype=bool)
        for start in range(0, runs.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            length = right[part] - left[part]
            rule = _rules(length.astype(np.int64))
            values = function(runs[part], left[part] + rule.nodes * (length - 1.0))
            roughness = np.sum(np.abs(np.einsum("cnb,nb->cb", rule.last, values)), axis=0)
            mean = np.sum(rule.weights * values, axis=0)
            sums = length * mean
            # The coefficients fall geometrically, and the rule has twice the degree of these: its
            # error is about length · roughness² / mean.
            allowed = _TOLERANCE * scale[runs[part]]
            smooth = (length * roughness**2 <= allowed * mean) | (length <= _NODES)
            smooth |= sums <= allowed
            np.add.at(total, runs[part][smooth], sums[smooth])
            failed[part] = ~smooth
        runs, left, right = runs[failed], left[failed], right[failed]
        middle = _split(left, right)
        runs = np.concatenate([runs, runs])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return total


def _split(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Halfway on a logarithmic scale, or in the middle of short runs."""
    geometric = np.sqrt((left + 1.0) * (right + 1.0)) - 1.0
    return np.clip(np.rint(geometric), left + 1.0, right - 1.0)
