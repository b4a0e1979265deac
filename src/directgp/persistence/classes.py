"""The closed list of classes that a model file may contain.

A file has short names of classes ("RBF", "SparseGP"). They are looked up in a list of classes that
are already defined: the concrete parts of directgp (every kernel, likelihood, loss, model, …) and
those that the program has passed to `savable`. A file never causes an import.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar, get_origin

import paramax

import directgp.collapsed  # defines classes of the list
import directgp.decisions  # noqa: F401
from directgp.decisions.costs import Cost
from directgp.divergences import Divergence, WhitenedGaussian
from directgp.errors import WrongType
from directgp.exact.classification import ExactClassification
from directgp.exact.classifier import ExactGP
from directgp.exact.finite import FiniteGP
from directgp.exact.leave_one_out import LeaveOneOut
from directgp.exact.matern_linear import MaternLinear
from directgp.exact.posterior import Posterior
from directgp.exact.regression import ExactRegression
from directgp.expectations import Expectation
from directgp.expectations.tilted import TiltedSampler
from directgp.fitting.fitted import FittedGP, LongTable
from directgp.fitting.fitted_exact import CostCalibration, FittedExact
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.stacking import FittedClassStack, FittedCountStack, FittedStack
from directgp.fitting.stacking.class_member import ClassMember, ClassModel
from directgp.fitting.stacking.class_trees import ClassTrees
from directgp.fitting.stacking.count_member import CountMember, RateModel
from directgp.fitting.stacking.log_scale import LogScale
from directgp.fitting.stacking.logistic import LogisticRegression
from directgp.fitting.stacking.member import Location, Member
from directgp.fitting.stacking.residual_shape import ResidualShape
from directgp.fitting.stacking.trees import TreeEnsemble
from directgp.kernels import Kernel
from directgp.likelihoods import Likelihood
from directgp.losses import Loss, Score
from directgp.models import Model
from directgp.models.deep import Propagation
from directgp.models.features import FeatureMap
from directgp.models.means import MeanFunction
from directgp.objective import Objective
from directgp.parameters import Lent
from directgp.predictive import LogWarp
from directgp.tables import Standardiser
from directgp.training.loop import GP

C = TypeVar("C", bound=type)

FAMILIES = (
    ClassModel,
    Cost,
    Divergence,
    Expectation,
    FeatureMap,
    Kernel,
    Likelihood,
    Location,
    Loss,
    MeanFunction,
    Model,
    Propagation,
    RateModel,
    Score,
    TiltedSampler,
)
"""Base classes: every concrete subclass in directgp is on the list."""
SINGLE = (
    CostCalibration,
    ClassMember,
    ClassTrees,
    CountMember,
    ExactClassification,
    ExactGP,
    ExactRegression,
    FiniteGP,
    FittedClassStack,
    FittedCountStack,
    FittedExact,
    FittedExactRegression,
    FittedGP,
    FittedStack,
    GP,
    LeaveOneOut,
    Lent,
    LogScale,
    LogWarp,
    LogisticRegression,
    LongTable,
    MaternLinear,
    Member,
    Objective,
    Posterior,
    ResidualShape,
    Standardiser,
    TreeEnsemble,
    WhitenedGaussian,
    paramax.NonTrainable,
    paramax.Parameterize,
)
"""Further classes on the list."""

_FIRST_FORMAT = re.compile(r"(?:directgp|paramax)(?:\.[a-z_]+)+\.(\w+)")
_granted: dict[str, type] = {}


def savable(cls: C) -> C:
    """Class decorator: allow models with parts of a user-defined class to be saved and loaded.

    The program that loads must define and decorate the same class. It must be an Equinox module (as
    every kernel, likelihood and loss is), a dataclass or a named tuple.
    """
    if not is_data(cls):
        raise WrongType(
            f"savable takes an Equinox module, dataclass or named tuple, got {cls!r}; "
            "derive it from equinox.Module"
        )
    _granted[_path(cls)] = cls
    return cls


def name_of(cls: type) -> str | None:
    """The name of a class in files; None if it cannot be stored."""
    path, own = _path(cls), cls.__name__
    if _granted.get(path) is cls:
        return path
    return own if _known(own) is cls else None


def class_named(name: Any) -> type | None:
    """The class of that name, if it may be stored in a file.

    Files of the first format have "directgp.kernels.stationary.RBF" for "RBF".
    """
    if not isinstance(name, str):
        return None
    if name in _granted:
        return _granted[name]
    ours = _FIRST_FORMAT.fullmatch(name)
    return _known(ours[1] if ours else name)


_walked: dict[str, type] = {}


def _known(name: str) -> type | None:
    """The class of that name, cached; new names search again, as modules may have been imported."""
    if name not in _walked:
        _walked.update(known_classes())
    return _walked.get(name)


def known_classes() -> dict[str, type]:
    """The list by name, without user-defined classes."""
    found = {cls.__name__: cls for cls in SINGLE}
    for family in FAMILIES:
        for cls in _below(family):
            if found.setdefault(cls.__name__, cls) is not cls:
                raise RuntimeError(f"two parts are called {cls.__name__}; rename one of them")
    return found


def _below(family: type) -> Iterator[type]:
    """Concrete data classes of directgp's own that derive from `family`."""
    for cls in family.__subclasses__():
        own = cls.__module__.startswith("directgp.")
        if own and is_data(cls) and not inspect.isabstract(cls) and _is_complete(cls):
            yield cls
        yield from _below(cls)


def _is_complete(cls: type) -> bool:
    """Whether all declared class variables have values (false for abstract bases)."""
    declared = {
        name
        for base in cls.__mro__
        if base.__module__.startswith("directgp.")
        for name, hint in inspect.get_annotations(base).items()
        if get_origin(hint) is ClassVar
    }
    return all(hasattr(cls, name) for name in declared)


def is_data(cls: Any) -> bool:
    """Whether it is an Equinox module, dataclass or named tuple."""
    if not isinstance(cls, type):
        return False
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def is_ours(cls: type) -> bool:
    """Whether the class is defined in directgp."""
    return cls.__module__.startswith("directgp.") and _path(cls) not in _granted


def field_names(cls: type) -> list[str]:
    """The fields of an object that are stored: all without a leading underscore."""
    if issubclass(cls, tuple):
        return list(cls._fields)  # pyright: ignore[reportAttributeAccessIssue]
    return [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
