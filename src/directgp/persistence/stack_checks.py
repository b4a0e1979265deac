"""Consistency checks of a stored regression stack: shapes and values of its arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directgp.errors import DirectGPError
from directgp.exact.regression import ExactRegression
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking import FittedStack, Stack
from directgp.fitting.stacking.member import ByDeepGP, ByTreesAndGP, Member
from directgp.fitting.stacking.residual_shape import ResidualShape
from directgp.fitting.stacking.trees import TreeEnsemble
from directgp.persistence.gp_checks import (
    check_column_names,
    check_fitted,
    check_scales,
    check_target_scale,
)
from directgp.persistence.shape_checks import check_shape
from directgp.persistence.stored_numbers import check_numbers

MOST_ROWS = 1 << 14
MOST_MEMBERS = 100
LARGEST_LOG = 50.0


def check_stack(fitted: FittedStack) -> None:
    """Raise a `ValueError` if the parts of a stack are inconsistent."""
    columns = check_members(fitted, ("log", "crps", "square", "pinball"))
    check_target_scale(fitted.targets)
    if fitted.warp is not None and not 0 < fitted.warp.lowest < fitted.warp.highest:
        raise DirectGPError("a logarithm of the target needs bounds above 0, in order")
    for member in fitted.members:
        _check_member(member, columns)


def check_members(fitted: Stack, losses: Sequence[str]) -> int:
    """Check the fields that all kinds of stacks have: scales, names, loss and member weights.

    Args:
        fitted: a stack from a file.
        losses: the losses that its weights may minimise.

    Returns:
        The number of input columns.
    """
    columns = check_scales("the scales of the inputs", fitted.inputs)
    check_column_names(fitted)
    if fitted.num_outputs != 1 or fitted.loss not in losses:
        raise DirectGPError(f"a stack has one output and a loss of {', '.join(losses)}")
    if not 1 <= len(fitted.members) <= MOST_MEMBERS:
        raise DirectGPError(f"a stack has 1 to {MOST_MEMBERS} members, got {len(fitted.members)}")
    check_shares("the weights of the members", fitted.weights, len(fitted.members))
    check_shape("the losses out of fold", check_numbers(fitted.out_of_fold).shape, None)
    return columns


def _check_member(member: Member, columns: int) -> None:
    location: Any = member.location
    both = isinstance(location, ByTreesAndGP)
    trees, gp = getattr(location, "trees", None), getattr(location, "gp", None)
    if trees is not None:
        check_trees(trees, columns)
    if isinstance(location, ByDeepGP):
        check_trained(location.fitted, columns + 1, "real")
    if gp is not None:
        check_gp(gp, columns + both)
    if member.scale is not None:
        check_gp(member.scale.gp, columns)
        if abs(member.scale.level) > LARGEST_LOG:
            raise DirectGPError("the level of a local scale is out of bounds")
    numbers = [member.factor, *(getattr(location, n, 1.0) for n in ("scale", "size", "deviation"))]
    if not all(number > 0 for number in numbers) or not 0 <= member.strength <= 1:
        raise DirectGPError(f"the scales of the member {member.name[:40]!r} must be positive")
    _check_shape_of_errors(member.shape)


def _check_shape_of_errors(shape: ResidualShape) -> None:
    parts = len(shape.weight)
    if not 1 <= parts <= MOST_MEMBERS:
        raise DirectGPError(f"errors have 1 to {MOST_MEMBERS} components, got {parts}")
    check_shares("the weights of components", shape.weight, parts)
    for name in ("centre", "deviation"):
        check_shape(f"the {name} of components", check_numbers(getattr(shape, name)).shape, parts)
    if not np.all(shape.deviation > 0):
        raise DirectGPError("deviations of components must be positive")


def check_trained(fitted: FittedGP, columns: int, support: str) -> None:
    """Check a member that is a trained GP.

    Args:
        fitted: the GP, of one output.
        columns: the number of its inputs.
        support: the support of its targets, see `Likelihood.support`.
    """
    check_fitted(fitted)
    if fitted.num_outputs != 1 or fitted.likelihood.support != support:
        raise DirectGPError(f"a trained member of this stack has one output ({support})")
    check_shape("the inputs of a trained member", (len(fitted.inputs.shift),), columns)


def check_gp(gp: ExactRegression, columns: int) -> None:
    """Check the arrays of an exact GP.

    Args:
        gp: the GP.
        columns: the number of its inputs.
    """
    rows = len(gp.y)
    if not 1 <= rows <= MOST_ROWS:
        raise DirectGPError(f"an exact GP has 1 to {MOST_ROWS:,} rows, got {rows:,}")
    check_shape("the rows of an exact GP", check_numbers(gp.X).shape, rows, columns)
    vectors = (gp.y, gp.weight, gp.alpha, gp.left_out.mean, gp.left_out.variance)
    for vector in vectors:
        check_shape("the numbers of an exact GP's rows", check_numbers(vector).shape, rows)
    check_shape("log parameters", check_numbers(gp.kernel.log_parameters).shape, columns + 2)
    logs = np.append(gp.kernel.log_parameters, gp.log_noise)
    if np.any(np.abs(logs) > LARGEST_LOG) or np.any(gp.weight <= 0):
        raise DirectGPError("the parameters of an exact GP are out of bounds")


def check_trees(trees: TreeEnsemble, columns: int) -> None:
    """Check an ensemble of trees; children come after their parents, so that walks end.

    Args:
        trees: the ensemble.
        columns: the number of its inputs.
    """
    nodes = len(trees.feature)
    check_shape("the baseline of trees", check_numbers(trees.baseline).shape, 1)
    for name in ("threshold", "value"):
        check_shape(f"the {name} of nodes", getattr(trees, name).shape, nodes)
        if getattr(trees, name).dtype != np.float64:
            raise DirectGPError(f"the {name} of nodes must be float64")
    if not (np.all(np.isfinite(trees.threshold)) and np.all(np.isfinite(trees.value))):
        raise DirectGPError("the numbers of trees must be finite")
    for name in ("feature", "left", "right"):
        check_shape(f"the {name} of nodes", getattr(trees, name).shape, nodes)
    if any(getattr(trees, n).dtype.kind != "i" for n in ("roots", "feature", "left", "right")):
        raise DirectGPError("indices of tree nodes must be integers")
    check_shape("the roots of trees", trees.roots.shape, None)
    if trees.roots[0] != 0 or np.any(np.diff(trees.roots) <= 0) or trees.roots[-1] >= nodes:
        raise DirectGPError("the roots of trees are not in order")
    end = np.append(trees.roots[1:], nodes)
    own, end = np.arange(nodes), np.repeat(end, np.diff(np.append(trees.roots, nodes)))
    leaf = (trees.left == own) & (trees.right == own)
    inner = ~leaf
    later = (trees.left[inner] > own[inner]) & (trees.right[inner] > own[inner])
    bounded = np.all((trees.left >= own) & (trees.left < end))
    bounded &= np.all((trees.right >= own) & (trees.right < end))
    known = np.all((trees.feature >= 0) & (trees.feature < columns))
    if not (bounded and known and np.all(later)):
        raise DirectGPError("the nodes do not form trees")


def check_shares(what: str, values: np.ndarray, count: int) -> None:
    """Check weights: not negative, with sum 1.

    Args:
        what: their name in errors.
        values: the weights.
        count: their number.
    """
    check_shape(what, check_numbers(values).shape, count)
    if np.any(values < 0) or abs(float(np.sum(values)) - 1.0) > 1e-6:
        raise DirectGPError(f"{what} must be ≥ 0 and sum to 1")
