"""What a report shows beside a model: plain models, and which columns have effects to draw."""

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
"""Members of stacks that are baselines when they are alone."""


def baselines(
    fitted: Fitted, linear: RidgeBaseline | None, X: Float[np.ndarray, "N D"]
) -> dict[str, Predictive]:
    """What plain models of the same training rows predict, by their names.

    Args:
        fitted: the model; of a stack, its linear member and its trees are baselines.
        linear: the linear regression that a file holds for targets that are numbers.
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
    """The three most relevant columns that became a single number, with their places.

    Args:
        encoder: of the table.
        shares: relevance of columns, or of inputs, largest first; those without any are left out.
    """
    sources = list(encoder.sources_of_inputs)
    found = {}
    for name, share in shares.items():
        if share > 0 and sources.count(name) == 1 and encoder.names[sources.index(name)] == name:
            found[name] = sources.index(name)
    return dict(list(found.items())[:_MOST_EFFECTS])


def _alone(stack: Stack, member: object) -> Stack:
    """A stack of one member; trees of numbers as they are usually used, with one deviation."""
    if isinstance(stack, FittedStack) and isinstance(member, Member):
        gaussian = ResidualShape.gaussian()
        member = replace(member, scale=None, strength=0.0, factor=1.0, shape=gaussian)
    return replace(stack, members=(member,), weights=np.ones(1))  # pyright: ignore
