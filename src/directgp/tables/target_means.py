"""Labels of many levels as the mean of the target at each level, cross-fitted for training rows.

The mean of a level with n rows is shrunken towards the mean of all rows, by m / (n + m), where m
is the variance within levels over the variance between them (empirical Bayes). A training row must
not see its own target in its input: its mean is that of the other folds (`out_of_fold`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from directgp.tables.arrow_values import Where
from directgp.tables.categories import are_levels, found_levels
from directgp.tables.columns import Coded, Column, Middle, column_kinds

FOLDS = 5
_LEAST = 1.0
"""The least m: a level counts as if one more row of it had the mean of all rows."""


class TargetValues(NamedTuple):
    """Values averaged by level: K numbers per row (NaN: missing), their names, the weights."""

    values: Float[np.ndarray, "N K"]
    names: tuple[str, ...]
    weight: Float[np.ndarray, "N"]

    @classmethod
    def of(
        cls, y: Any, classes: Any = (), weight: Float[np.ndarray, "N"] | None = None
    ) -> "TargetValues":
        """Numbers y [N] or [N T] as they are; of class numbers the shares of all but the first.

        `classes` are the labels of the classes 0 … C − 1 of y, or nothing for numbers.

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
    """The shrunken mean of the target at each of `count` levels; rows of level −1 are ignored.

    A level without rows gets `middle`, towards which all are shrunken.

    Args:
        level: the number of the level of every row.
        target: of the rows, with weights.
        count: the number of levels.
        middle: the mean of all rows.
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
    # No variance between levels: no level is told from another.
    shrink = np.where(between > 0, within / np.where(between > 0, between, 1.0), np.inf)
    return middle + unit * total / (rows + np.maximum(shrink, _LEAST))


def weighted_mean(target: TargetValues) -> Float[np.ndarray, "K"]:
    """The mean of what is measured; 0 where nothing is."""
    weight = np.where(np.isfinite(target.values), target.weight[:, None], 0.0)
    total = np.sum(weight, axis=0)
    share = weight / np.where(total > 0, total, 1.0)
    return np.sum(share * np.nan_to_num(target.values), axis=0)


@column_kinds.register("target mean")
@dataclass(frozen=True)
class TargetMeanColumn(Column):
    """A category of many levels, each as the shrunken mean of the target there."""

    kind: ClassVar[str] = "target mean"
    levels: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]
    """For each level."""
    middle: tuple[float, ...]
    """Of all rows: for levels that training never saw."""
    outputs: tuple[str, ...]

    @classmethod
    def fit(
        cls, name: str, column: pa.ChunkedArray, levels: tuple[str, ...], target: TargetValues
    ) -> "TargetMeanColumn":
        """Average the target by level."""
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
        """The mean of every row's level; of all rows for a level that training never saw."""
        found = found_levels(column, self.levels)
        table = np.array([*self.means, self.middle])
        coded = table[found.level]  # −1 is the last
        coded[found.missing] = np.nan
        return Coded(coded, *found.remark("taken as the mean of all rows"))

    def out_of_fold(
        self, column: pa.ChunkedArray, target: TargetValues, fold: Int[np.ndarray, "N"]
    ) -> Float[np.ndarray, "N K"]:
        """For training rows: the mean of the row's level among the rows of the other folds."""
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
    """A fold for every row, by what it holds: equal rows share one, whatever the order of rows."""
    plain = np.where(np.isnan(values), np.nan, values) + 0.0  # one NaN, and −0 is 0
    bits = np.ascontiguousarray(plain).view(np.uint64)
    odd = np.random.default_rng(20240601).integers(0, 2**63, bits.shape[1], dtype=np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * (2 * odd + np.uint64(1))
    total = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1)
    _, place = np.unique(total * np.uint64(0x9E3779B97F4A7C15), return_inverse=True)
    return place.ravel() % count
