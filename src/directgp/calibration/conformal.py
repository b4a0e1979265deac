"""`Calibration`: conformity scores and PIT values of held-out rows, by group."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from directgp import metrics
from directgp.calibration.conformity import Bounds, central, chosen, conformity
from directgp.calibration.finite_sample import least_rows, missed_rank, threshold
from directgp.calibration.recalibrated import Curve, Recalibrated
from directgp.errors import DirectGPError
from directgp.metrics.scores import check_scored
from directgp.predictive import ClassProbabilities, CountMixture, Predictive

Kind = Literal["numbers", "counts", "classes"]
KINDS: dict[str, Kind] = {"real": "numbers", "counts": "counts", "classes": "classes"}
"""Kind of calibration, by the support of the likelihood."""
ALL = ""
"""The name of the single group if there are no groups."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The conformity scores and PIT values of held-out rows, for each group.

    `bounds` and `classes` are split conformal (by group: Mondrian conformal) sets. For a new row
    that is exchangeable with the calibration rows of its group,

        coverage ≤ P(y in its set) ≤ coverage + 1/(n + 1)     (the second without ties)

    whatever the model. The probability is over calibration rows and new row together: of one set of
    n rows it is Beta(n + 1 − j, j) with j = ⌊(n + 1)(1 − coverage)⌋.
    """

    kind: Kind
    groups: tuple[str, ...]
    """Names of the groups; one empty name without groups."""
    column: str | None
    """The column of the table with the groups, if they come from one."""
    scores: tuple[Float[np.ndarray, "_"], ...]
    pits: tuple[Float[np.ndarray, "_"], ...]
    """PIT values (counts: randomised); empty for classes."""

    @classmethod
    def of(
        cls, predictive: Predictive, y: Any, groups: Any = None, column: str | None = None
    ) -> "Calibration":
        """Compute scores and PIT values of rows that the model was not trained on.

        Args:
            predictive: the model's predictions for these rows.
            y: their targets; class numbers for classes.
            groups: a label for each row; coverage then holds within each group.
            column: the name of the column that the labels come from.

        Returns:
            The calibration of predictions of the same model.
        """
        y = check_scored(predictive, y)
        found = conformity(predictive, y)
        kind = _kind(predictive)
        labels = None if groups is None else group_names(groups, len(y))
        names = (ALL,) if labels is None else tuple(sorted(set(labels.tolist())))
        parts = [slice(None)] if labels is None else [labels == name for name in names]
        pits = np.empty(0)
        if kind != "classes":
            of_counts = kind == "counts"
            pits = metrics.randomised_pit(predictive, y, seed=0) if of_counts else predictive.cdf(y)
        return cls(
            kind,
            names,
            column,
            tuple(np.sort(found[part]) for part in parts),
            tuple(np.sort(pits[part]) if len(pits) else pits for part in parts),
        )

    @property
    def by_group(self) -> bool:
        """Whether there are groups."""
        return self.groups != (ALL,)

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows of each group."""
        return {name: len(own) for name, own in zip(self.groups, self.scores, strict=True)}

    def thresholds(self, coverage: Any, count: int, groups: Any = None) -> Float[np.ndarray, "N"]:
        """The smallest score that is in the set, for each of `count` rows.

        Args:
            coverage: the probability that a set contains y.
            count: the number of rows.
            groups: the group of each row, if the calibration has groups.
        """
        check_coverage(coverage)
        own = np.array([*(threshold(each, coverage) for each in self.scores), -np.inf])
        return own[self._numbers(groups, count)]

    def bounds(self, predictive: Predictive, coverage: Any, groups: Any = None) -> Bounds:
        """The interval of each row; infinite where its group has too few rows, or none.

        Args:
            predictive: the model's predictions.
            coverage: the share of rows that must lie inside, e.g. 0.9.
            groups: the group of each row, if there are groups.

        Returns:
            The smallest and the largest y of each row.
        """
        self._check_kind(predictive)
        return central(predictive, self.thresholds(coverage, len(predictive), groups))

    def classes(
        self, predictive: ClassProbabilities, coverage: Any, groups: Any = None
    ) -> Bool[np.ndarray, "N K"]:
        """Which classes are in the set of each row; all where its group has too few rows.

        Args:
            predictive: the model's probabilities.
            coverage: the share of rows whose class must be in their set, e.g. 0.9.
            groups: the group of each row, if there are groups.
        """
        self._check_kind(predictive)
        return chosen(predictive, self.thresholds(coverage, len(predictive), groups))

    def distribution(self, predictive: Predictive, groups: Any = None) -> Predictive:
        """Predictions with recalibrated probabilities, for decisions; those of classes unchanged.

        A group that has no rows keeps the model's own probabilities.

        Args:
            predictive: of the model.
            groups: the group of each row, if the calibration has groups.
        """
        self._check_kind(predictive)
        if isinstance(predictive, ClassProbabilities):
            return predictive
        curves = [Curve(own) for own in (*self.pits, np.empty(0))]
        return Recalibrated(predictive, curves, self._numbers(groups, len(predictive)))

    def too_few(self, coverage: float) -> dict[str, int]:
        """Groups with too few rows for this coverage, with their number of rows."""
        return {name: n for name, n in self.rows.items() if not missed_rank(n, coverage)}

    def advice(self, coverage: float) -> str:
        """A message on groups with too few rows; empty if there are none."""
        few = self.too_few(coverage)
        if not few:
            return ""
        need = f"{coverage:g} coverage needs at least {least_rows(coverage)} rows"
        everything = "all classes" if self.kind == "classes" else "all numbers"
        if not self.by_group:
            return f"{need} and there are {few[ALL]}: each set holds {everything}"
        named = ", ".join(f"{name} ({n})" for name, n in list(few.items())[:5])
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        return f"{need} in each group; sets hold {everything} in {named}{more}"

    def _numbers(self, groups: Any, count: int) -> Int[np.ndarray, "N"]:
        """The index of each row's group; one past the last for unknown groups."""
        if not self.by_group:
            return np.zeros(count, dtype=np.intp)
        if groups is None:
            raise DirectGPError(
                "the model was calibrated by group, so the group of each row is needed; give groups"
            )
        labels = group_names(groups, count)
        place = {name: number for number, name in enumerate(self.groups)}
        return np.array([place.get(label, len(place)) for label in labels.tolist()], dtype=np.intp)

    def _check_kind(self, predictive: Predictive) -> None:
        if _kind(predictive) != self.kind:
            raise DirectGPError(
                f"this calibration is for {self.kind}, got a {type(predictive).__name__}; "
                "calibrate the model that makes the predictions"
            )

    def to_stored(self) -> dict[str, Any]:
        """Plain values and arrays, for a file."""
        return {
            "kind": self.kind,
            "groups": list(self.groups),
            "column": self.column,
            "scores": list(self.scores),
            "pits": list(self.pits),
        }

    @classmethod
    def from_stored(cls, stored: Any) -> "Calibration":
        """Restore from the stored state, with validation, because a file may be damaged."""
        names = {"kind", "groups", "column", "scores", "pits"}
        if not isinstance(stored, dict) or set(stored) != names:
            raise DirectGPError("its calibration lacks parts")
        kind, groups, column = stored["kind"], stored["groups"], stored["column"]
        scores, pits = stored["scores"], stored["pits"]
        texts = isinstance(groups, list) and all(isinstance(name, str) for name in groups)
        if not texts or not groups or len({*groups}) < len(groups):
            raise DirectGPError("the groups of its calibration have no names")
        if kind not in ("numbers", "counts", "classes") or not isinstance(column, str | None):
            raise DirectGPError("its calibration has an unknown kind")
        if not all(_is_sorted_list(each, len(groups)) for each in (scores, pits)):
            raise DirectGPError("the scores of its calibration are not sorted numbers")
        low, high = (-np.inf, 0.0) if kind == "classes" else (0.0, 1.0)
        if any(len(own) and not low <= own[0] <= own[-1] <= high for own in scores):
            raise DirectGPError("a score of its calibration is not a probability")
        for own, values in zip(scores, pits, strict=True):
            if len(values) != (0 if kind == "classes" else len(own)):
                raise DirectGPError("its calibration has another number of PIT values than scores")
            if len(values) and not (values[0] >= 0 and values[-1] <= 1):
                raise DirectGPError("a PIT value of its calibration is not a probability")
        return cls(kind, tuple(groups), column, tuple(scores), tuple(pits))


def _is_sorted_list(values: Any, count: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) == count
        and all(
            isinstance(own, np.ndarray)
            and own.ndim == 1
            and own.dtype == np.float64
            and bool(np.all(own[1:] >= own[:-1]))
            and not np.isnan(own).any()
            for own in values
        )
    )


def group_names(groups: Any, count: int) -> np.ndarray:
    """The label of each row as text: 1, 1.0 and "1" are one group; missing values are a group.

    Args:
        groups: one label per row.
        count: the number of rows.

    >>> group_names([1, 2.0, "north", None], 4).tolist()
    ['1', '2', 'north', 'missing']
    """
    given = groups.to_pylist() if hasattr(groups, "to_pylist") else groups
    values = given.tolist() if hasattr(given, "tolist") else list(given)
    if len(values) != count or any(isinstance(value, list | tuple) for value in values):
        raise DirectGPError(
            f"groups must be one label for each of {count} rows, got {len(values)} values"
        )
    return np.array([_text(value) for value in values], dtype=object)


def _text(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) or "empty"


def _kind(predictive: Predictive) -> Kind:
    if isinstance(predictive, ClassProbabilities):
        return "classes"
    return "counts" if isinstance(predictive, CountMixture) else "numbers"


def check_coverage(coverage: Any) -> None:
    """Raise an error for a coverage that is not a number strictly between 0 and 1."""
    if not isinstance(coverage, float | int) or not 0 < coverage < 1:
        raise DirectGPError(
            f"coverage must be strictly between 0 and 1, got {coverage!r}; use e.g. 0.9 for 90 %"
        )
