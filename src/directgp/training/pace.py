"""How fast each part of a model moves, relative to the learning rate."""

from typing import Any

import jax
from jax.tree_util import GetAttrKey
from jaxtyping import PyTree

QUICK = 3.0
"""Pace of the kernel and of the mean of q(u) in a fit at the usual rate (docs/decisions/0013)."""
_QUICK_PARTS = (("model", "kernel"), ("model", "posterior", "mean"))


def paces(learned: PyTree, quick: float) -> PyTree:
    """A factor for every learned number of a GP, in the shape of the tree `learned`: `quick` for
    the kernel and the mean of q(u) of a model that is one sparse GP, else 1.

    In whitened coordinates one step of Adam changes each of M means by about the rate, where many
    of them have to become large, and a length-scale by that share of itself, on which all of q(u)
    has to wait. Inducing inputs and the covariance of q(u), thousands of numbers that are noisy
    together, bear no more than the rate itself. Models made of sparse GPs move evenly: in deep ones
    the gain was not clear, in others it was not tried.
    """
    return jax.tree_util.tree_map_with_path(
        lambda path, _: quick if _is_quick(path) else 1.0, learned
    )


def _is_quick(path: tuple[Any, ...]) -> bool:
    names = tuple(key.name for key in path if isinstance(key, GetAttrKey))
    return any(names[: len(part)] == part for part in _QUICK_PARTS)
