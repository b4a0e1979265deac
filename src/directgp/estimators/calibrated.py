"""What estimators do with rows kept for calibration: sets with a guarantee, and decisions."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from directgp.calibration import KINDS, Calibration, check_coverage
from directgp.decisions import Cost, Decision, decide
from directgp.errors import DirectGPError
from directgp.estimators.inputs import encoded, validated_rows
from directgp.fitting.any_fitted import Fitted
from directgp.predictive import Predictive
from directgp.tables import as_table, unmasked
from directgp.tables.messages import did_you_mean


class CalibratedEstimator(ABC):
    """`calibrate`, and what uses it. `calibration_` is what was learned from fresh rows."""

    calibration_: Calibration
    fitted_: Fitted
    loss: Any
    n_outputs_: int

    @abstractmethod
    def predict_distribution(self, X: Any) -> Predictive | tuple[Predictive, ...]:
        """The whole predictive distribution at every row."""

    @abstractmethod
    def _class_labels(self) -> tuple[Any, ...] | None:
        """What the user calls the classes, if y are classes."""

    @abstractmethod
    def _targets(self, y: Any) -> np.ndarray:
        """One column of targets as the numbers a likelihood reads."""

    def calibrate(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Learn from rows that were not trained on how far predictions can be trusted.

        Intervals (`predict_interval`) or sets of classes (`predict_set`) then have a guarantee that
        needs nothing of the model, only that later rows are exchangeable with these: of all rows
        to come at least the promised share lies inside (split conformal prediction). `decide` of
        numbers and counts uses the recalibrated distribution. Fitting again forgets it.

        Args:
            X: rows that the model was not trained on, 9 at least for intervals of 90 %.
            y: their targets.
            groups: a label for each row, or the name of a column of X: the guarantee then holds
                within each group (Mondrian conformal prediction).

        Returns:
            The estimator itself.
        """
        predictive = self._one_output(X, "calibrate")
        targets = self._targets(unmasked(y))
        self._check_fresh(X, targets)
        column = groups if isinstance(groups, str) else None
        labels = groups if column is None else _column(X, column)
        self.calibration_ = Calibration.of(predictive, targets, labels, column)
        return self

    def decide(self, X: Any, cost: Any = None, groups: Any = None) -> Decision:
        """What to do at every row so that the expected cost is smallest; see `decisions.decide`.

        After `calibrate` the expected costs of numbers and counts are those of the recalibrated
        distribution.

        Args:
            X: the rows.
            cost: what mistakes cost; may be left out by an estimator trained for one (`loss=cost`).
            groups: the group of each row, after `calibrate` with such labels.

        Returns:
            The action of least expected cost of every row.
        """
        if cost is None and not isinstance(self.loss, Cost):
            raise DirectGPError(
                "this estimator was not trained for a cost; say what mistakes cost, e.g. "
                "decide(X, BinaryCost(1, 20, positive=label))"
            )
        predictive = self._one_output(X, "decide")
        calibration = self._calibration(groups)
        if calibration is not None:
            predictive = calibration.distribution(predictive, self._groups(X, groups))
        return decide(predictive, self.loss if cost is None else cost, self._class_labels())

    def _sets(self, X: Any, coverage: float, groups: Any) -> tuple[Any, ...]:
        """The predictions, the calibration or None, and the group of each row."""
        check_coverage(coverage)
        predictive = self._one_output(X, "a set with a guarantee")
        calibration = self._calibration(groups)
        return predictive, calibration, self._groups(X, groups) if calibration else None

    def _one_output(self, X: Any, what: str) -> Predictive:
        predictive = self.predict_distribution(X)
        if not isinstance(predictive, Predictive):
            raise DirectGPError(
                f"{what} needs one output, got {len(predictive)}; use directgp.decide or "
                "directgp.Calibration with predict_distribution(X)[k] for output k"
            )
        return predictive

    def _calibration(self, groups: Any) -> Calibration | None:
        found = getattr(self, "calibration_", None)
        if groups is not None and (found is None or not found.by_group):
            raise DirectGPError("the model was not calibrated by group; leave out groups")
        return found

    def _groups(self, X: Any, groups: Any) -> Any:
        if groups is None and self.calibration_.column is not None:
            return _column(X, self.calibration_.column)
        return _column(X, groups) if isinstance(groups, str) else groups

    def _check_fresh(self, X: Any, y: np.ndarray) -> None:
        """Refuse rows of which most were trained on, as far as the estimator remembers them."""
        memory = getattr(self, "_memory", None)
        if memory is None or memory.rows.y.ndim > 1:
            return
        inputs = encoded(self, validated_rows(self, unmasked(X), reset=False))  # pyright: ignore
        known = {row.tobytes() for row in np.column_stack([memory.rows.X, memory.rows.y])}
        seen = sum(row.tobytes() in known for row in np.column_stack([inputs, y]))
        if 2 * seen > len(y):
            raise DirectGPError(
                f"{seen} of {len(y)} rows were trained on, and their errors are too small to "
                "calibrate by; keep rows aside for it before fit"
            )

    def _forget_calibration(self) -> None:
        if hasattr(self, "calibration_"):
            del self.calibration_

    def _stored_calibration(self) -> dict[str, Any]:
        found = getattr(self, "calibration_", None)
        return {} if found is None else {"calibration": found.to_stored()}

    def _restore_calibration(self, state: dict[str, Any]) -> None:
        if "calibration" in state:
            found = Calibration.from_stored(state["calibration"])
            if found.kind != KINDS[self.fitted_.likelihood.support] or self.n_outputs_ != 1:
                raise DirectGPError("its calibration is not that of the model")
            self.calibration_ = found


def _column(X: Any, name: str) -> Any:
    """A column of a table by its name."""
    if not hasattr(X, "columns") and not hasattr(X, "column_names"):
        raise DirectGPError(
            f"groups={name!r} is the name of a column, but X is no table; give a label a row"
        )
    table = as_table(X)
    if name not in table.column_names:
        hint = did_you_mean(name, table.column_names)
        raise DirectGPError(f"X has no column {name!r} to take the groups from; {hint}")
    return table[name]
