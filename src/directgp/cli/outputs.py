"""Predictive distributions as columns of a table."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from directgp.cli.errors import UserError
from directgp.data import TargetEncoder
from directgp.predictive import ClassProbabilities, Predictive


def levels_of(text: str) -> list[float]:
    """Quantile levels from the command line.

    >>> levels_of("0.05, 0.5,0.95")
    [0.05, 0.5, 0.95]
    """
    levels = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            level = float(part)
        except ValueError:
            level = np.nan
        if not 0 < level < 1:
            raise UserError(f"--quantiles must be numbers between 0 and 1, got {part!r}")
        levels.append(level)
    return sorted(set(levels))


@singledispatch
def prediction_columns(
    predictive: Predictive, target: TargetEncoder, levels: list[float]
) -> dict[str, Any]:
    """Numbers and counts: mean, std and the quantiles, in the units of the target."""
    columns = {"mean": predictive.mean, "std": predictive.std}
    found = predictive.quantile(levels) if levels else np.empty((len(predictive), 0))
    return columns | {f"q{level:g}": found[:, k] for k, level in enumerate(levels)}


@prediction_columns.register
def _(predictive: ClassProbabilities, target: TargetEncoder, levels: list[float]):
    """Classes: the most probable one, and the probability of each."""
    columns: dict[str, Any] = {"predicted": target.decode(predictive.predicted)}
    shares = predictive.probabilities
    return columns | {f"p({label})": shares[:, k] for k, label in enumerate(target.labels)}


def columns_of_targets(
    predicted: Predictive | tuple[Predictive, ...],
    targets: Sequence[TargetEncoder],
    levels: list[float],
) -> dict[str, Any]:
    """The columns of every target; of several they start with the target's name."""
    if isinstance(predicted, Predictive):
        return prediction_columns(predicted, targets[0], levels)
    return {
        f"{target.name}_{name}": values
        for target, each in zip(targets, predicted, strict=True)
        for name, values in prediction_columns(each, target, levels).items()
    }
