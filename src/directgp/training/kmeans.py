"""A few steps of k-means (Lloyd's algorithm) for initial inducing inputs.

The same steps from the same start as scikit-learn's `KMeans(init="random", n_init=1, max_iter=10,
tol=1e-3)`, whose import takes longer than many fits.
"""

import numpy as np
from jaxtyping import Float, Int

_STEPS = 10
_TOLERANCE = 1e-3
_BLOCK = 2**22  # distances in memory


def kmeans_centres(
    X: Float[np.ndarray, "N D"], weights: Float[np.ndarray, "N"], number: int, seed: int
) -> Float[np.ndarray, "M D"]:
    """Centres of `number` clusters of weighted rows.

    Args:
        X: the rows.
        weights: of the rows.
        number: of clusters.
        seed: of the initial centres.

    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> np.sort(kmeans_centres(X, np.ones(4), 2, seed=0).ravel()).tolist()
    [0.5, 10.5]
    """
    shift = X.mean(axis=0)
    X = X - shift
    first = np.random.RandomState(seed).choice(
        len(X), size=number, replace=False, p=weights / weights.sum()
    )
    centres, labels = X[first], np.full(len(X), -1)
    enough = _TOLERANCE * np.mean(np.var(X, axis=0))
    for _ in range(_STEPS):
        before, labels_before = centres, labels
        labels, distances = _nearest(X, centres)
        centres = _means(X, weights, labels, distances, centres)
        unchanged = np.array_equal(labels, labels_before)
        if unchanged or np.sum((centres - before) ** 2) <= enough:
            break
    return centres + shift


def _nearest(
    X: Float[np.ndarray, "N D"], centres: Float[np.ndarray, "M D"]
) -> tuple[Int[np.ndarray, "N"], Float[np.ndarray, "N"]]:
    """The nearest centre of each row, and its squared distance."""
    labels, distances = np.empty(len(X), dtype=np.intp), np.empty(len(X))
    squares = np.sum(centres**2, axis=1)
    for start in range(0, len(X), max(1, _BLOCK // len(centres))):
        part = slice(start, start + max(1, _BLOCK // len(centres)))
        relative = squares - 2.0 * X[part] @ centres.T
        labels[part] = np.argmin(relative, axis=1)
        distances[part] = np.min(relative, axis=1) + np.sum(X[part] ** 2, axis=1)
    return labels, distances


def _means(X, weights, labels, distances, centres) -> Float[np.ndarray, "M D"]:
    """The weighted mean of each cluster; an empty one moves to the row furthest from its centre."""
    number = len(centres)
    mass = np.bincount(labels, weights, number)
    sums = np.stack([np.bincount(labels, weights * x, number) for x in X.T], axis=1)
    empty = np.flatnonzero(mass == 0)
    for place, row in zip(empty, np.argsort(distances)[::-1], strict=False):
        moved = weights[row] * X[row]
        sums[labels[row]] -= moved
        mass[labels[row]] -= weights[row]
        sums[place], mass[place] = moved, weights[row]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mass[:, None] > 0, sums / mass[:, None], centres)
