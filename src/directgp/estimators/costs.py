"""Which costs an estimator can be trained for."""

from typing import Any

from directgp.decisions import Cost, TableCost
from directgp.errors import DirectGPError


def check_trainable(
    cost: Cost, labels: tuple[Any, ...] | None, *, one_output: bool, robust: str | None
) -> None:
    """Raise an error for a cost that does not apply to these targets.

    Args:
        cost: the cost to train for.
        labels: of the classes; None for numbers.
        one_output: whether there is a single target.
        robust: the name of a robust loss, if one was asked for.
    """
    if not one_output or robust is not None:
        raise DirectGPError(
            "training for a cost is for one output and has no robust form; train with "
            "loss='log' and use decide()"
        )
    if (labels is not None) != isinstance(cost, TableCost):
        kind, fits = (
            ("numbers", "newsvendor, square or interval")
            if labels is None
            else ("classes", "binary, matrix or reject")
        )
        raise DirectGPError(
            f"a {type(cost).__name__} cannot train a model of {kind}; use a {fits} cost"
        )
