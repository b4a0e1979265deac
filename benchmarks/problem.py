"""The benchmark problem: data, initial values and settings shared by all libraries."""

from __future__ import annotations

import os
from typing import Literal

import numpy as np
from scipy.cluster.vq import kmeans2

Loss = Literal["elbo", "direct"]
Dtype = Literal["float32", "float64"]

INITIAL_NOISE = 0.1
"""Initial noise variance of every method."""

THREADS = min(2, os.cpu_count() or 1)


def make_data(n: int, D: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Standardised inputs [n D] and a smooth target [n] with noise, in float64."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    directions = rng.standard_normal((D, 3)) / np.sqrt(D)
    y = np.sin(X @ directions * 2).sum(1) + 0.3 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def initial_lengthscale(D: int) -> float:
    """Initial lengthscale of every method.

    The square root of D keeps kernel values of standardised inputs well above zero. At GPyTorch's
    own 0.69 most of them underflow when D = 26, and denormal floats would distort the timing.
    """
    return float(np.sqrt(D))


def initial_inducing(
    X: np.ndarray, M: int, method: Literal["random", "kmeans"] = "random", seed: int = 0
) -> np.ndarray:
    """Inducing inputs [M D]: random rows of X [N D], or k-means centres started from such rows."""
    if len(X) < M:
        raise ValueError(f"M must be at most the number of rows, got M={M} for {len(X)} rows")
    rng = np.random.default_rng(seed)
    Z = X[rng.choice(len(X), M, replace=False)]
    if method == "kmeans":
        Z, _ = kmeans2(X, Z, iter=10, minit="matrix", missing="warn")
    return Z


def check_loss(loss: str) -> None:
    """Raise an error for a loss that is neither of the two."""
    if loss not in ("elbo", "direct"):
        raise ValueError(f"loss must be 'elbo' or 'direct', got {loss!r}")
