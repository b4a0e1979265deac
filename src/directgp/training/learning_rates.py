"""Factors of the learning rate for the parts of a model."""

from typing import Any

import jax
from jaxtyping import PyTree

from directgp.parameters import declared

QUICK = 3.0
"""Default factor for parts that declare rate="fast" (docs/decisions/0013)."""


def rate_factors(learned: PyTree, quick: float) -> PyTree:
    """A factor of the learning rate for every learned number of a GP.

    Fields declare their rate (`parameters.part`); in a sparse GP the kernel and the mean of q(u)
    are fast. A step of Adam changes each of the M whitened means by about the learning rate, and
    many of them have to become large; it changes a length-scale by that relative amount, on which
    all of q(u) depends. Inducing inputs and the covariance of q(u), thousands of numbers with noisy
    gradients, have the factor 1, and so have all parts of models that consist of sparse GPs: in
    deep models the gain was not clear, and in others it was not tried.

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
