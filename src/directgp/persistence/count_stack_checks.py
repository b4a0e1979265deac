"""Consistency checks of a stored stack of count models: shapes and values of its arrays."""

import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.stacking import FittedCountStack
from directgp.fitting.stacking.count_member import (
    ByLogCounts,
    ByLogLinear,
    ByRateTrees,
    ByTrainedRates,
    CountMember,
)
from directgp.persistence.shape_checks import check_shape
from directgp.persistence.stack_checks import (
    LARGEST_LOG,
    MOST_MEMBERS,
    check_gp,
    check_members,
    check_shares,
    check_trained,
    check_trees,
)
from directgp.persistence.stored_numbers import check_numbers


def check_count_stack(fitted: FittedCountStack) -> None:
    """Raise a `ValueError` if the parts of a stack are inconsistent."""
    columns = check_members(fitted, ("log",))
    if not 1e-6 < fitted.dispersion <= 1e3:
        raise DirectGPError("the dispersion of counts is out of bounds")
    for member in fitted.members:
        _check_member(member, columns)


def _check_member(member: CountMember, columns: int) -> None:
    numbers = (member.level, member.slope, member.lowest, member.highest)
    if any(not abs(number) <= LARGEST_LOG for number in numbers):
        raise DirectGPError(f"the calibration of {member.name[:40]!r} is out of bounds")
    parts = len(member.offsets)
    if not 1 <= parts <= MOST_MEMBERS or np.any(np.abs(check_numbers(member.offsets)) > 50.0):
        raise DirectGPError(f"the offsets of {member.name[:40]!r} are out of bounds")
    check_shape("the offsets of a rate", member.offsets.shape, parts)
    check_shares("the shares of offsets", member.shares, parts)
    model = member.model
    if isinstance(model, ByLogLinear):
        check_shape("the slopes", check_numbers(model.slopes).shape, columns)
    elif isinstance(model, ByRateTrees):
        check_trees(model.trees, columns)
    elif isinstance(model, ByLogCounts):
        if not model.scale > 0:
            raise DirectGPError("the scale of a GP of log counts must be positive")
        check_gp(model.gp, columns + (model.trees is not None))
        if model.trees is not None:
            check_trees(model.trees, columns)
    elif isinstance(model, ByTrainedRates):
        check_trained(model.fitted, columns, "counts")
    else:
        raise DirectGPError(f"a stack of counts cannot hold a {type(model).__name__}")
