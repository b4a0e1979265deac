"""Variants of the default regressor with one ingredient changed, to measure its contribution.

`python -m benchmarks.arena ablate` runs all of them and the default; the page has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.arena.forecasts import Forecast
from benchmarks.arena.ours import regressor
from benchmarks.arena.tables import Problem

_STACKING = "directgp.fitting.stacking"
_NEVER = 1 << 60
MEMBERS = ("exact GP", "mean", "trees", "trees + GP", "deep GP")
"""The members in the order of the stack."""


@contextmanager
def _changed(**changes: Any) -> Iterator[None]:
    """Replace names in modules of the stack: `regression__log_target=…`."""
    with ExitStack() as stack:
        for name, value in changes.items():
            module, attribute = name.split("__", 1)
            stack.enter_context(patch(f"{_STACKING}.{module}.{attribute}", value))
        yield


def without_logarithm(problem: Problem) -> Forecast:
    """Positive targets are not replaced by their logarithms."""
    with _changed(regression__log_target=lambda *_: None):
        return regressor(problem)


def without_local_scale(problem: Problem) -> Forecast:
    """Members have one scale of errors for all rows."""
    with _changed(regression___ROWS_FOR_SCALE=_NEVER):
        return regressor(problem)


def without_shape(problem: Problem) -> Forecast:
    """Standardised errors are Gaussian."""
    with _changed(member___ROWS_FOR_SHAPE=_NEVER):
        return regressor(problem)


def without_common_spread(problem: Problem) -> Forecast:
    """Members keep their own spread."""
    with _changed(pooling___FACTORS=np.ones(1)):
        return regressor(problem)


def with_equal_weights(problem: Problem) -> Forecast:
    """Every member has the same weight."""
    with _changed(regression___weights=lambda _, parts, *__: np.full(len(parts), 1 / len(parts))):
        return regressor(problem)


def _member_left_out(name: str) -> Callable[[Problem], Forecast]:
    """The stack whose weights are chosen among the other members."""

    def method(problem: Problem) -> Forecast:
        from directgp.fitting.stacking import regression

        choose = regression._weights

        def chosen(loss: Any, parts: list[Any], *rows: Any) -> np.ndarray:
            gone = MEMBERS.index(name)
            if gone >= len(parts):
                return choose(loss, parts, *rows)
            others = [part for index, part in enumerate(parts) if index != gone]
            return np.insert(choose(loss, others, *rows), gone, 0.0)

        with _changed(regression___weights=chosen):
            return regressor(problem)

    return method


without_exact_gp = _member_left_out("exact GP")
without_mean = _member_left_out("mean")
without_trees = _member_left_out("trees")
without_trees_and_gp = _member_left_out("trees + GP")
without_deep_gp = _member_left_out("deep GP")


def one_gp(problem: Problem) -> Forecast:
    """No stack: one sparse or deep GP trained for the log loss."""
    return regressor(problem, beta=1.0)


VARIANTS = {
    "without exact GP": "without_exact_gp",
    "without mean": "without_mean",
    "without trees": "without_trees",
    "without trees + GP": "without_trees_and_gp",
    "without deep GP": "without_deep_gp",
    "without local scale": "without_local_scale",
    "without form of errors": "without_shape",
    "without logarithm": "without_logarithm",
    "without common spread": "without_common_spread",
    "equal weights": "with_equal_weights",
    "one GP, β = 1": "one_gp",
}
"""Functions of this module by the names under which their results are kept."""


def method_of(label: str) -> str:
    """The method of a variant as `benchmarks.arena.run` takes it."""
    return f"{__name__}:{VARIANTS[label]}"
