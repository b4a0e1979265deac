"""Bounds on the resources that a stored model needs: memory, compilation, depth of trees.

A file of some hundred kilobytes may describe a model whose kernel matrices have gigabytes. The
total is computed from the shapes of its arrays, before any matrix is made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from directgp.errors import DirectGPError
from directgp.exact.classification import ExactClassification
from directgp.exact.finite import FiniteGP
from directgp.exact.regression import ExactRegression
from directgp.fitting.stacking.trees import TreeEnsemble
from directgp.kernels import Kernel, OnColumns
from directgp.models import DeepGP, Independent, MultiOutput, SparseGP
from directgp.persistence.classes import field_names, is_data
from directgp.persistence.shape_checks import MOST_PAIRS, ROWS, values_of

MOST_KERNELS = 300
"""Maximum number of parts of a kernel, and of `Independent`, as each is compiled."""
MOST_COLUMNS = 10_000
"""Maximum number of columns in `OnColumns`, as each is copied for all inputs."""
MOST_LAYERS = 50
MOST_KERNELS_IN_ALL, MOST_GPS_IN_ALL = 1000, 500
"""Of all members, layers and latent functions of a file together."""
MOST_TREES = 1 << 14
"""Maximum number of trees of an ensemble, which a block of rows traverses together."""
DEEPEST_TREE = 128


def check_work(part: Any) -> None:
    """Raise an error for a model that needs too much memory or compilation to predict.

    Its shapes have been checked before.
    """
    if _pairs(part) > MOST_PAIRS:
        raise DirectGPError("the kernel matrices of this model would need more than 2 GiB")
    for kind, most in ((Kernel, MOST_KERNELS_IN_ALL), (SparseGP, MOST_GPS_IN_ALL)):
        if _count(kind, part) > most:
            raise DirectGPError(f"a file has at most {most} parts of the kind {kind.__name__}")


def _pairs(part: Any) -> int:
    """The number of entries of all matrices that predictions compute."""
    own = next((count(part) for kind, count in _MADE.items() if isinstance(part, kind)), 0)
    return own + sum(map(_pairs, _inner(part)))


def _inner(part: Any) -> list[Any]:
    """The direct parts of an object."""
    if is_data(type(part)):
        return [getattr(part, name) for name in field_names(type(part))]
    if isinstance(part, dict):
        return list(part.values())
    return list(part) if isinstance(part, tuple | list) else []


def _of_kernel(kernel: Kernel) -> int:
    if _count(Kernel, kernel) > MOST_KERNELS:
        raise DirectGPError(f"a kernel has at most {MOST_KERNELS} kernels as its parts")
    return 0


def _count(kind: type, part: Any) -> int:
    """How many parts of a kind are in a part, itself included."""
    return isinstance(part, kind) + sum(_count(kind, inner) for inner in _inner(part))


def _with_inputs(inputs: Any, kernel: Kernel) -> int:
    """A kernel matrix, and the columns of the inputs that kernels on columns copy."""
    count = len(values_of(inputs))
    return count * (count + _copied(kernel))


def _copied(part: Any) -> int:
    own = len(part.columns) if isinstance(part, OnColumns) else 0
    if own > MOST_COLUMNS:
        raise DirectGPError(f"OnColumns names at most {MOST_COLUMNS:,} columns in a file")
    return own + sum(map(_copied, _inner(part)))


def _of_parts(model: Independent) -> int:
    if len(model.parts) > MOST_KERNELS:
        raise DirectGPError(f"a model has at most {MOST_KERNELS} latent functions with own kernels")
    return 0


def _of_layers(model: DeepGP) -> int:
    if len(model.layers) > MOST_LAYERS:
        raise DirectGPError(f"a deep model has at most {MOST_LAYERS} layers")
    return 0


def _of_outputs(model: MultiOutput) -> int:
    return ROWS * len(values_of(model.levels)) ** 2


def _of_trees(trees: TreeEnsemble) -> int:
    if len(trees.roots) > MOST_TREES:
        raise DirectGPError(f"an ensemble has at most {MOST_TREES:,} trees")
    check_depth(trees)
    return 0


def check_depth(trees: TreeEnsemble) -> None:
    """Raise an error for very deep trees; every child comes after its parent."""
    own = np.arange(len(trees.left))
    inner = trees.left != own
    reached = np.zeros(len(own), bool)
    reached[trees.roots] = True
    for _ in range(DEEPEST_TREE):
        parents = own[reached & inner]
        if not parents.size:
            return
        reached = np.zeros(len(own), bool)
        reached[trees.left[parents]] = reached[trees.right[parents]] = True
    raise DirectGPError(f"a tree has a depth of at most {DEEPEST_TREE}")


_MADE: dict[type, Callable[[Any], int]] = {
    ExactRegression: lambda gp: len(gp.y) ** 2,
    ExactClassification: lambda gp: len(gp.level) * len(gp.X) ** 2,
    FiniteGP: lambda gp: _with_inputs(gp.support, gp.kernel),
    SparseGP: lambda gp: _with_inputs(gp.inducing, gp.kernel),
    MultiOutput: _of_outputs,
    DeepGP: _of_layers,
    Independent: _of_parts,
    Kernel: _of_kernel,
    TreeEnsemble: _of_trees,
}
"""For each class, a function that returns the number of entries of its largest matrices."""
