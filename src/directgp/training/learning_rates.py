"""How fast each part of a model is learned, relative to the learning rate."""

from typing import Any

import jax
from jaxtyping import PyTree

from directgp.parameters import declared

QUICK = 3.0
"""Factor of the parts that are learned fast in a fit at the usual rate (docs/decisions/0013)."""


def rate_factors(learned: PyTree, quick: float) -> PyTree:
    """A factor of the learning rate for every learned number of a GP.

    Parts say themselves how fast they are learned (`parameters.part`): in a sparse GP the kernel
    and the mean of q(u) fast. In whitened coordinates one step of Adam changes each of M means by
    about the rate, where many of them have to become large, and a length-scale by that share of
    itself, on which all of q(u) has to wait. Inducing inputs and the covariance of q(u), thousands
    of numbers that are noisy together, are learned at the rate itself. Models made of sparse GPs
    declare nothing: all their parts have the factor 1, because in deep ones the gain was not clear,
    and in others it was not tried.

    Args:
        learned: what the optimiser moves of a model and a likelihood.
        quick: the factor of the parts that declare rate="fast".

    Returns:
        A tree of the same structure: `quick` or 1 for every leaf.
    """
    return jax.tree_util.tree_map_with_path(
        lambda path, _: quick if _is_fast(learned, path) else 1.0, learned
    )


def _is_fast(tree: PyTree, path: tuple[Any, ...]) -> bool:
    for field in declared(tree, path):
        rate = field.get("rate", "usual")
        if rate != "by part":
            return rate == "fast"
    return False
