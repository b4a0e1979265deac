"""How fast each part of a model moves, relative to the learning rate."""

from typing import Any

import jax
from jax.tree_util import GetAttrKey
from jaxtyping import PyTree

_QUICK = 3.0
"""Pace of the kernel and of the mean of q(u) in a sparse GP (docs/decisions/0013)."""
_QUICK_PARTS = (("model", "kernel"), ("model", "posterior", "mean"))


def paces(learned: PyTree) -> PyTree:
    """A factor for every learned number of a GP, in the shape of the tree `learned`.

    In whitened coordinates one step of Adam changes each of M means by about the rate, where many
    of them have to become large, and a length-scale by that share of itself, on which all of q(u)
    has to wait. Inducing inputs and the covariance of q(u), thousands of numbers that are noisy
    together, bear no more than the rate itself. Models made of sparse GPs, deep ones among them,
    move evenly: there nothing was gained.
    """
    return jax.tree_util.tree_map_with_path(lambda path, _: _pace(path), learned)


def _pace(path: tuple[Any, ...]) -> float:
    names = tuple(key.name for key in path if isinstance(key, GetAttrKey))
    return _QUICK if any(names[: len(part)] == part for part in _QUICK_PARTS) else 1.0
