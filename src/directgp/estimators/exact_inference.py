"""`GPClassifier(inference=…)`: calls `fit_exact_for_cost` with the estimator's parameters."""

import inspect
from typing import Any

from directgp.decisions import Cost, Decision
from directgp.decisions.exact_inference import (
    MAX_STEPS,
    OPTIONS_OF_TRAINING,
    decide_for_rows,
    fit_exact_for_cost,
)
from directgp.errors import DirectGPError
from directgp.estimators.inputs import encoded, validated_rows
from directgp.fitting.fitted_exact import FittedExact
from directgp.tables import WeightedRows, unmasked

_NO_EFFECT = (*OPTIONS_OF_TRAINING, "objective", "warm_start")
"""Parameters that have no effect with `inference`."""


def fit_inference(
    estimator: Any, rows: WeightedRows, X: Any, X_test: Any, test_weight: Any
) -> FittedExact:
    """Fit an exact GP classifier by the estimator's `inference`.

    Args:
        estimator: a `GPClassifier` whose classes and encoder are already set.
        rows: the merged training rows.
        X: the training rows as given, used as test rows if `X_test` is None.
        X_test: the rows that decisions will be made for, or None.
        test_weight: how often each of these rows occurs.
    """
    _check_parameters(estimator)
    several, labels = rows.y.ndim > 1, estimator.classes_
    if several or len(labels) != 2:
        kinds = f"{rows.y.shape[1]} labels per row" if several else f"{len(labels)} classes"
        raise DirectGPError(
            f"inference={estimator.inference!r} is for two classes, got {kinds}; leave out "
            "inference"
        )
    cost = estimator.loss if isinstance(estimator.loss, Cost) else None
    # The rows as given: `test_weight` refers to them, not to the merged rows.
    asked = X if X_test is None and test_weight is not None else X_test
    return fit_exact_for_cost(
        rows.X,
        rows.y,
        None if cost is None else cost.for_labels(estimator._class_labels()),
        inference=estimator.inference,
        X_test=None if asked is None else coded_rows(estimator, asked),
        test_weight=test_weight,
        bound=estimator.cost_bound,
        kernel=estimator.kernel,
        likelihood=estimator._likelihood(),
        num_inducing=estimator.num_inducing,
        max_steps=MAX_STEPS if estimator.max_steps is None else estimator.max_steps,
        sample_weight=rows.weight,
        seed=estimator._seed(),
    )


def decide_inference(estimator: Any, X: Any, cost: Any, test_weight: Any) -> Decision:
    """Run the estimator's loss-EM for these rows and return its decisions.

    Args:
        estimator: a fitted `GPClassifier` with a loss-EM as `inference`.
        X: the rows to decide.
        cost: the cost of mistakes.
        test_weight: how often each of these rows occurs, or None.
    """
    return decide_for_rows(
        estimator.fitted_,
        coded_rows(estimator, X),
        cost,
        labels=estimator._class_labels(),
        test_weight=test_weight,
        bound=estimator.cost_bound,
        seed=estimator._seed(),
    )


def coded_rows(estimator: Any, X: Any) -> Any:
    """Rows encoded as inputs of the model."""
    return encoded(estimator, validated_rows(estimator, unmasked(X), reset=False))


def _check_parameters(estimator: Any) -> None:
    """Raise an error for parameters that have no effect here."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    for name in _NO_EFFECT:
        value = getattr(estimator, name, None)
        if value is None or (name, value) == ("layers", 1):
            continue
        default = defaults[name].default
        if value is not default and value != default:
            raise DirectGPError(
                f"{name}={value!r} has no effect with inference={estimator.inference!r}, which "
                "trains only the kernel; leave one of them out"
            )
    loss = estimator.loss
    if not isinstance(loss, Cost) and not (isinstance(loss, str) and loss == "log"):
        raise DirectGPError(
            f"inference={estimator.inference!r} learns by marginal likelihood; loss must be 'log' "
            f"or a cost such as BinaryCost(1, 20), got {loss!r}"
        )
