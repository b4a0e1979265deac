"""Target encoding: categories of many levels as the mean target of each level.

The mean of a level with n rows is shrunk towards the mean of all rows by m / (n + m), where m is
the variance within levels over the variance between them (empirical Bayes). Training rows are
encoded by the means of the other folds (`out_of_fold`), which do not contain their own target.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from directgp.tables.arrow_values import Where
from directgp.tables.categories import are_levels, found_levels
from directgp.tables.columns import Coded, Column, Middle, column_kinds
from directgp.tables.row_hash import row_hashes

FOLDS = 5
_LEAST = 1.0
"""Minimum of m: shrinkage as by one more row with the mean of all rows."""


class TargetValues(NamedTuple):
    """The values to average by level: K numbers per row (NaN: missing), their names, weights."""

    values: Float[np.ndarray, "N K"]
    names: tuple[str, ...]
    weight: Float[np.ndarray, "N"]

    @classmethod
    def of(
        cls, y: Any, classes: Any = (), weight: Float[np.ndarray, "N"] | None = None
    ) -> "TargetValues":
        """Targets as values to average: numbers unchanged, classes as indicators of all but one.

        Args:
            y: targets [N] or [N T], or class numbers [N].
            classes: the labels of the classes 0 … C − 1 of y; empty for numbers.
            weight: the weight of each row; None: equal weights.

        >>> TargetValues.of(np.array([0.0, 2.0]), classes=["a", "b", "c"]).values
        array([[0., 0.],
               [0., 1.]])
        """
        numbers = np.asarray(y, dtype=np.float64)
        labels = [str(label) for label in classes]
        if labels and numbers.ndim == 1:
            values = (numbers[:, None] == np.arange(1, len(labels))).astype(np.float64)
            names = tuple(f"share of {label}" for label in labels[1:])
        else:
            values = numbers.reshape(len(numbers), -1)
            several = values.shape[1] > 1
            names = tuple(f"target mean {k + 1}" if several else "target mean" for k in
                          range(values.shape[1]))  # fmt: skip
        return cls(values, names, np.ones(len(values)) if weight is None else weight)

    def take(self, rows: Int[np.ndarray, "M"]) -> "TargetValues":
        """Some of the rows."""
        return TargetValues(self.values[rows], self.names, self.weight[rows])


def level_means(
    level: Int[np.ndarray, "N"], target: TargetValues, count: int, middle: Float[np.ndarray, "K"]
) -> Float[np.ndarray, "L K"]:
    """The shrunk mean of the target at each level.

    Args:
        level: the level index of every row; rows with −1 are ignored.
        target: the values of the rows, with weights.
        count: the number of levels; one without rows gets `middle`.
        middle: the mean of all rows, towards which means are shrunk.
    """
    measured = np.isfinite(target.values) & (level >= 0)[:, None]
    weight = np.where(measured, target.weight[:, None], 0.0)
    away = np.where(measured, target.values - middle, 0.0)
    unit = np.exp2(np.frexp(np.max(np.abs(away), axis=0, initial=0.0))[1])  # squares stay finite
    away = away / unit
    at = np.maximum(level, 0)
    rows, total = (
        np.stack([np.bincount(at, column, minlength=count) for column in part.T], axis=1)
        for part in (weight, weight * away)
    )
    mean = total / np.where(rows > 0, rows, 1.0)
    used, all_rows = np.sum(rows > 0, axis=0), np.sum(rows, axis=0)
    within = np.sum(weight * (away - mean[at]) ** 2, axis=0) / np.maximum(all_rows - used, 1.0)
    effective = all_rows - np.sum(rows**2, axis=0) / np.where(all_rows > 0, all_rows, 1.0)
    excess = np.sum(rows * mean**2, axis=0) - (used - 1) * within
    between = np.where(effective > 0, excess, 0.0) / np.where(effective > 0, effective, 1.0)
    # Without variance between levels all means are `middle`.
    shrink = np.where(between > 0, within / np.where(between > 0, between, 1.0), np.inf)
    return middle + unit * total / (rows + np.maximum(shrink, _LEAST))


def weighted_mean(target: TargetValues) -> Float[np.ndarray, "K"]:
    """The mean of the known values; 0 if there are none."""
    weight = np.where(np.isfinite(target.values), target.weight[:, None], 0.0)
    total = np.sum(weight, axis=0)
    share = weight / np.where(total > 0, total, 1.0)
    return np.sum(share * np.nan_to_num(target.values), axis=0)


@column_kinds.register("target mean")
@dataclass(frozen=True)
class TargetMeanColumn(Column):
    """A category of many levels, each encoded as the shrunk mean of its target."""

    kind: ClassVar[str] = "target mean"
    levels: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]
    """For each level."""
    middle: tuple[float, ...]
    """The mean of all rows, for levels unseen in training."""
    outputs: tuple[str, ...]

    @classmethod
    def fit(
        cls, name: str, column: pa.ChunkedArray, levels: tuple[str, ...], target: TargetValues
    ) -> "TargetMeanColumn":
        """Average the target by level.

        Args:
            name: the name of the column.
            column: its training values.
            levels: its levels.
            target: the values to average.
        """
        middle = weighted_mean(target)
        level = found_levels(column, levels).level
        means = level_means(level, target, len(levels), middle)
        return cls(
            name, levels, tuple(map(tuple, means.tolist())), tuple(middle.tolist()), target.names
        )

    @property
    def names(self) -> tuple[str, ...]:
        """One for each mean."""
        return tuple(f"{self.name} {output}" for output in self.outputs)

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """The mean of every row's level; that of all rows for a level unseen in training."""
        found = found_levels(column, self.levels)
        table = np.array([*self.means, self.middle])
        coded = table[found.level]  # −1 is the last
        coded[found.missing] = np.nan
        return Coded(coded, *found.remark("taken as the mean of all rows"))

    def out_of_fold(
        self, column: pa.ChunkedArray, target: TargetValues, fold: Int[np.ndarray, "N"]
    ) -> Float[np.ndarray, "N K"]:
        """For training rows, the mean of the row's level over the rows of the other folds.

        Args:
            column: the training values.
            target: the values to average.
            fold: the fold of every row.
        """
        found, middle = found_levels(column, self.levels), np.array(self.middle)
        coded = np.tile(middle, (len(fold), 1))
        for number in np.unique(fold):
            own = fold == number
            others = np.where(own, -1, found.level)
            means = level_means(others, target, len(self.levels), middle)
            coded[own] = np.vstack([means, middle])[found.level[own]]
        coded[found.missing] = np.nan
        return coded

    def filler(self, coded: Float[np.ndarray, "N K"], middle: Middle) -> Float[np.ndarray, "K"]:
        """The mean of all rows."""
        return np.array(self.middle)

    def filler_name(self, missing: str) -> str:
        """The mean of the target, not of the column."""
        return "mean of all rows"

    def describe(self) -> str:
        """What became of the column."""
        return f"{len(self.levels)} levels, each as the mean of the target there"

    def is_sound(self) -> bool:
        """Whether there is a finite mean for every level and output."""
        if not (super().is_sound() and are_levels(self.levels) and are_levels(self.outputs, 1)):
            return False
        means = np.array([*self.means, self.middle], dtype=np.float64)
        shape = (len(self.levels) + 1, len(self.outputs))
        return means.shape == shape and bool(np.isfinite(means).all())


def folds_of(values: Float[np.ndarray, "N D"], count: int = FOLDS) -> Int[np.ndarray, "N"]:
    """A fold for every row that depends on its values only, so that equal rows share one.

    Args:
        values: the rows.
        count: the number of folds.
    """
    _, place = np.unique(row_hashes(values, seed=20240601), return_inverse=True)
    return place.ravel() % count
