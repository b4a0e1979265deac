"""Baselines that a report compares with a model, and the columns whose effects it draws."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from directgp.fitting.any_fitted import Fitted
from directgp.fitting.ridge_baseline import RidgeBaseline
from directgp.fitting.stacking import FittedStack, Stack
from directgp.fitting.stacking.member import Member
from directgp.fitting.stacking.residual_shape import ResidualShape
from directgp.predictive import Predictive
from directgp.tables import TableEncoder

_MOST_EFFECTS = 3
LINEAR = "linear regression"
_MEMBERS = {
    "logistic": "logistic regression",
    "log-linear": "log-linear regression",
    "trees": "boosted trees",
}
"""Members of stacks that are baselines, with their names in reports."""


def baselines(
    fitted: Fitted, linear: RidgeBaseline | None, X: Float[np.ndarray, "N D"]
) -> dict[str, Predictive]:
    """Predictions of baselines that were fitted to the same training rows, by name.

    Args:
        fitted: the model; if it is a stack, its linear member and its trees are baselines.
        linear: the linear regression in the model file, for regression.
        X: encoded rows.
    """
    found: dict[str, Predictive] = {} if linear is None else {LINEAR: linear.predict(X)}
    if not isinstance(fitted, Stack):
        return found
    for member in fitted.members:
        if member.name in _MEMBERS:
            found[_MEMBERS[member.name]] = _alone(fitted, member).predict(X)
    return found


def numeric_columns(encoder: TableEncoder, shares: Mapping[str, float]) -> dict[str, int]:
    """The three most relevant columns with a single numeric input, with the index of the input.

    Args:
        encoder: the encoder of the table.
        shares: relevance of columns, or of inputs, largest first; those with 0 are left out.
    """
    sources = list(encoder.sources_of_inputs)
    found = {}
    for name, share in shares.items():
        if share > 0 and sources.count(name) == 1 and encoder.names[sources.index(name)] == name:
            found[name] = sources.index(name)
    return dict(list(found.items())[:_MOST_EFFECTS])


def _alone(stack: Stack, member: object) -> Stack:
    """A stack of one member; for regression, trees get one Gaussian deviation for all rows."""
    if isinstance(stack, FittedStack) and isinstance(member, Member):
        gaussian = ResidualShape.gaussian()
        member = replace(member, scale=None, strength=0.0, factor=1.0, shape=gaussian)
    return replace(stack, members=(member,), weights=np.ones(1))  # pyright: ignore
