"""Consistency checks of a stored stack of classifiers: shapes and values of its arrays."""

import numpy as np

from directgp.errors import DirectGPError
from directgp.exact.classification import ExactClassification
from directgp.fitting.stacking import FittedClassStack
from directgp.fitting.stacking.class_member import (
    ByClassGP,
    ByClassTrees,
    ByLogistic,
    ByTrainedGP,
    ClassMember,
)
from directgp.persistence.shape_checks import check_shape
from directgp.persistence.stack_checks import (
    LARGEST_LOG,
    MOST_ROWS,
    check_members,
    check_trained,
    check_trees,
)
from directgp.persistence.stored_numbers import check_numbers


def check_class_stack(fitted: FittedClassStack) -> None:
    """Raise a `ValueError` if the parts of a stack are inconsistent."""
    columns = check_members(fitted, ("log", "crps"))
    if fitted.num_classes < 2 or not fitted.support > 0:
        raise DirectGPError("a stack of classifiers has at least two classes and training rows")
    for member in fitted.members:
        _check_member(member, columns, fitted.num_classes)
    if not any(isinstance(member.model, ByClassGP | ByLogistic) for member in fitted.members):
        raise DirectGPError("a stack of classifiers has a GP or a logistic regression")


def _check_member(member: ClassMember, columns: int, classes: int) -> None:
    if not member.temperature > 0:
        raise DirectGPError(f"the temperature of {member.name[:40]!r} must be positive")
    model = member.model
    if isinstance(model, ByLogistic):
        slopes, levels = model.model
        check_shape("the slopes", check_numbers(slopes).shape, classes, columns)
        check_shape("the levels", check_numbers(levels).shape, classes)
    elif isinstance(model, ByClassTrees):
        check_shape("the trees of classes", (len(model.trees.ensembles),), classes)
        for ensemble in model.trees.ensembles:
            check_trees(ensemble, columns)
    elif isinstance(model, ByClassGP):
        _check_gp(model.gp, columns, 1 if classes == 2 else classes)
    elif isinstance(model, ByTrainedGP):
        check_trained(model.fitted, columns, "classes")
        outcomes = model.fitted.likelihood.outcomes
        check_shape("the classes of a GP", (0 if outcomes is None else len(outcomes),), classes)
    else:
        raise DirectGPError(f"a stack of classifiers cannot hold a {type(model).__name__}")


def _check_gp(gp: ExactClassification, columns: int, latents: int) -> None:
    rows = len(gp.X)
    if not 1 <= rows <= MOST_ROWS:
        raise DirectGPError(f"an exact GP has 1 to {MOST_ROWS:,} rows, got {rows:,}")
    check_shape("the rows of an exact GP", check_numbers(gp.X).shape, rows, columns)
    check_shape("the levels", check_numbers(gp.level).shape, latents)
    check_shape("alpha", check_numbers(gp.alpha).shape, latents, rows)
    check_shape("curvatures", check_numbers(gp.curvature).shape, latents, rows)
    logs = check_numbers(gp.kernel.log_parameters)
    check_shape("log parameters", logs.shape, columns + 2)
    if np.any(np.abs(logs) > LARGEST_LOG) or np.any(gp.curvature <= 0):
        raise DirectGPError("the parameters of an exact GP are out of bounds")
