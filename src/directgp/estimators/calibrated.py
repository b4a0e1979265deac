"""Conformal calibration of estimators: calibrated intervals or sets, and decisions."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from directgp.errors import DirectGPError

if TYPE_CHECKING:
    from directgp.calibration import Calibration
    from directgp.decisions import Decision
    from directgp.fitting.any_fitted import Fitted
    from directgp.predictive import Predictive


class CalibratedEstimator(ABC):
    """Mixin with `calibrate` and `decide`; `calibration_` holds the fitted `Calibration`."""

    calibration_: "Calibration"
    fitted_: "Fitted"
    loss: Any
    n_outputs_: int

    @abstractmethod
    def predict_distribution(self, X: Any) -> "Predictive | tuple[Predictive, ...]":
        """The predictive distribution of every row."""

    @abstractmethod
    def _class_labels(self) -> tuple[Any, ...] | None:
        """The class labels as given in y, or None for regression."""

    @abstractmethod
    def _targets(self, y: Any) -> np.ndarray:
        """One column of targets encoded as the numbers that the likelihood expects."""

    def calibrate(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Calibrate intervals or prediction sets on held-out rows (split conformal prediction).

        `predict_interval` and `predict_set` then have at least the requested marginal coverage,
        whatever the model, if later rows are exchangeable with these. For numbers and counts,
        `decide` uses the recalibrated distribution. A new `fit` discards the calibration.

        Args:
            X: rows that were not used in `fit`; at least 9 for intervals of 90 %.
            y: their targets.
            groups: a label for each row, or the name of a column of X; coverage then holds
                within each group (Mondrian conformal prediction).

        Returns:
            The estimator itself.
        """
        from directgp.calibration import Calibration
        from directgp.tables import unmasked

        predictive = self._one_output(X, "calibrate")
        targets = self._targets(unmasked(y))
        self._check_fresh(X, targets)
        column = groups if isinstance(groups, str) else None
        labels = groups if column is None else _column(X, column)
        self.calibration_ = Calibration.of(predictive, targets, labels, column)
        return self

    def decide(self, X: Any, cost: Any = None, groups: Any = None) -> "Decision":
        """The action with the least expected cost for every row; see `decisions.decide`.

        After `calibrate`, expected costs of numbers and counts are taken under the recalibrated
        distribution.

        Args:
            X: inputs [N D].
            cost: the cost function; by default the one that the estimator was trained for
                (`loss=cost`).
            groups: the group of each row, if `calibrate` was given groups.

        Returns:
            The chosen actions with their expected costs.
        """
        from directgp.decisions import Cost, decide

        if cost is None and not isinstance(self.loss, Cost):
            raise DirectGPError(
                "no cost given, and the estimator was not trained for one; pass a cost, e.g. "
                "decide(X, BinaryCost(1, 20, positive=label))"
            )
        predictive = self._one_output(X, "decide")
        calibration = self._calibration(groups)
        if calibration is not None:
            predictive = calibration.distribution(predictive, self._groups(X, groups))
        return decide(predictive, self.loss if cost is None else cost, self._class_labels())

    def _sets(self, X: Any, coverage: float, groups: Any) -> tuple[Any, ...]:
        """The predictive distribution, the calibration or None, and the group of each row."""
        from directgp.calibration import check_coverage

        check_coverage(coverage)
        predictive = self._one_output(X, "a calibrated interval or set")
        calibration = self._calibration(groups)
        return predictive, calibration, self._groups(X, groups) if calibration else None

    def _one_output(self, X: Any, what: str) -> "Predictive":
        from directgp.predictive import Predictive

        predictive = self.predict_distribution(X)
        if not isinstance(predictive, Predictive):
            raise DirectGPError(
                f"{what} needs one output, got {len(predictive)}; use directgp.decide or "
                "directgp.Calibration with predict_distribution(X)[k] for output k"
            )
        return predictive

    def _calibration(self, groups: Any) -> "Calibration | None":
        found = getattr(self, "calibration_", None)
        if groups is not None and (found is None or not found.by_group):
            raise DirectGPError("the model was not calibrated by group; leave out groups")
        return found

    def _groups(self, X: Any, groups: Any) -> Any:
        if groups is None and self.calibration_.column is not None:
            return _column(X, self.calibration_.column)
        return _column(X, groups) if isinstance(groups, str) else groups

    def _check_fresh(self, X: Any, y: np.ndarray) -> None:
        """Refuse calibration rows of which most are among the remembered training rows."""
        from directgp.estimators.inputs import encoded, validated_rows
        from directgp.tables import unmasked

        memory = getattr(self, "_memory", None)
        if memory is None or memory.rows.y.ndim > 1:
            return
        inputs = encoded(self, validated_rows(self, unmasked(X), reset=False))  # pyright: ignore
        known = {row.tobytes() for row in np.column_stack([memory.rows.X, memory.rows.y])}
        seen = sum(row.tobytes() in known for row in np.column_stack([inputs, y]))
        if 2 * seen > len(y):
            raise DirectGPError(
                f"{seen} of {len(y)} rows are training rows, whose errors are too small for "
                "calibration; calibrate on rows that were held out from fit"
            )

    def _forget_calibration(self) -> None:
        if hasattr(self, "calibration_"):
            del self.calibration_

    def _stored_calibration(self) -> dict[str, Any]:
        found = getattr(self, "calibration_", None)
        return {} if found is None else {"calibration": found.to_stored()}

    def _restore_calibration(self, state: dict[str, Any]) -> None:
        from directgp.calibration import KINDS, Calibration

        if "calibration" in state:
            found = Calibration.from_stored(state["calibration"])
            if found.kind != KINDS[self.fitted_.likelihood.support] or self.n_outputs_ != 1:
                raise DirectGPError("its calibration does not belong to the model")
            self.calibration_ = found


def _column(X: Any, name: str) -> Any:
    """A column of a table by its name."""
    from directgp.tables import as_table
    from directgp.tables.messages import did_you_mean

    if not hasattr(X, "columns") and not hasattr(X, "column_names"):
        raise DirectGPError(
            f"groups={name!r} names a column, but X is not a table; give one label per row"
        )
    table = as_table(X)
    if name not in table.column_names:
        hint = did_you_mean(name, table.column_names)
        raise DirectGPError(f"X has no column {name!r} to take the groups from; {hint}")
    return table[name]
