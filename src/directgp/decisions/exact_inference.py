"""Exact GP classifiers for a cost: Laplace, EP, loss-calibrated EP and loss-EM in one call."""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.decisions.actions import Decision, decide
from directgp.decisions.class_costs import TableCost
from directgp.decisions.costs import Cost
from directgp.errors import DirectGPError
from directgp.exact.calibrate import calibrations
from directgp.exact.classifier import fit_exact
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.flat_options import FIT_OPTIONS, MODEL_OPTIONS, TRAINING_OPTIONS
from directgp.kernels import Kernel
from directgp.likelihoods import BernoulliProbit, Likelihood, likelihoods
from directgp.registry import Registry
from directgp.tables import check_inputs, check_rows, check_weights, column_names
from directgp.training.loop import TrainingWarning

MAX_STEPS = 100
"""Default number of L-BFGS steps for the kernel."""
_USED = {"inference", "kernel", "num_inducing", "max_steps", "learn_from", "checkpoint"}
OPTIONS_OF_TRAINING = tuple(
    name
    for name in (*MODEL_OPTIONS, *TRAINING_OPTIONS, *FIT_OPTIONS, "beta", "robust", "robust_power")
    if name not in _USED and name != "keep_checkpoint"
)
"""Options of gradient training, which have no effect on the inferences below."""


@dataclass(frozen=True)
class Inference:
    """An inference method: the approximation, and whether loss-EM follows."""

    method: str
    """The `method` of `fit_exact`, whose evidence the kernel maximises."""
    calibrated: bool = False
    """Whether loss-EM then optimises posterior and decisions jointly, for a cost."""


inferences = Registry("inference")
inferences.register("laplace")(lambda: Inference("laplace"))
inferences.register("ep")(lambda: Inference("ep"))
inferences.register("loss-ep")(lambda: Inference("ep"))
inferences.register("loss-em")(lambda: Inference("laplace", calibrated=True))
inferences.register("linearised-loss-em")(lambda: Inference("laplace", calibrated=True))
inferences.register("ep-loss-em")(lambda: Inference("ep", calibrated=True))


def fit_exact_for_cost(
    X: Any,
    y: Any,
    cost: Any = None,
    *,
    inference: str = "linearised-loss-em",
    X_test: Any = None,
    test_weight: Any = None,
    bound: float | None = None,
    kernel: str | Kernel = "matern52",
    likelihood: str | Likelihood = "bernoulli",
    num_inducing: int | None = None,
    max_steps: int = 100,
    sample_weight: Any = None,
    seed: int = 0,
) -> FittedExact:
    """Fit a GP classifier of two classes and up to about 2000 rows, with cost-aware inference.

    The kernel maximises the marginal likelihood of Laplace's approximation or of EP. Loss-EM then
    optimises posterior and decisions at the test rows jointly (`exact.calibrate`); "loss-ep" is
    loss-calibrated EP row by row (`exact.ep_by_row`), which needs no test rows, and a cost only at
    prediction.

    Args:
        X: inputs [N D].
        y: classes, 0 or 1.
        cost: a `BinaryCost`, or a 2 × 2 `CostMatrix` whose right actions cost nothing. Prices per
            row are those of the rows of `X_test`.
        inference: "laplace", "ep", "loss-ep", "loss-em", "linearised-loss-em" or "ep-loss-em".
        X_test: the rows that decisions are for; by default the training rows.
        test_weight: how often each of these rows occurs, by default equally often. On training
            rows, the density ratio p_test/p_train accounts for covariate shift.
        bound: M of `lossem` eq. (7), by default the largest cost; ∞ is the plain approximation.
        kernel: the initial kernel, or its name.
        likelihood: "bernoulli" (probit), or "bernoulli-logit" for Laplace and EP.
        num_inducing: number of support points of a sparse classifier; None: exact.
        max_steps: L-BFGS steps for the kernel; 0 keeps the initial kernel.
        sample_weight: how often each row counts, whole numbers.
        seed: seed of random numbers.

    Returns:
        The fitted classifier.

    >>> X = np.linspace(-1, 1, 12)[:, None]
    >>> from directgp.decisions import BinaryCost
    >>> fitted = fit_exact_for_cost(X, X[:, 0] > 0, BinaryCost(1, 20), max_steps=0)
    >>> int(fitted.calibration.decisions.sum()) > 6  # of 12: a miss costs 20 alarms
    True
    """
    began = time.monotonic()
    chosen = inferences.create(inference)
    names = column_names(X)
    X = check_inputs(X)
    y = check_rows(X, y)
    _check_use(inference, chosen, cost, X_test, test_weight, bound)
    test = X if X_test is None else check_inputs(X_test, num_columns=X.shape[1])
    prices = _prices(cost, len(test)) if chosen.calibrated else None
    link = likelihoods.resolve(likelihood)
    if (chosen.calibrated or inference == "loss-ep") and not isinstance(link, BernoulliProbit):
        raise DirectGPError(
            f"inference={inference!r} is for the probit link, got {type(link).__name__}; use "
            "link='probit', or inference='laplace' or 'ep'"
        )
    rows = np.repeat(np.arange(len(y)), _counts(sample_weight, len(y), inference))
    plain = fit_exact(
        X[rows],
        y[rows],
        kernel=kernel,
        method=chosen.method,
        likelihood=link,
        num_inducing=num_inducing,
        learn=max_steps > 0,
        max_steps=max_steps,
        seed=seed,
    )
    fitted = FittedExact(plain, inference, 0.0, names=None if names is None else tuple(names))
    if prices is not None:
        fitted = fitted.calibrated(test, *prices, bound=bound, weights=test_weight, seed=seed)
        record = fitted.calibration
        if record is not None and not record.converged:
            warnings.warn(
                f"{inference} did not settle in {record.rounds:.0f} rounds; use a larger bound, or "
                "inference='loss-ep'",
                TrainingWarning,
                stacklevel=3,
            )
    return replace(fitted, seconds=time.monotonic() - began)


def decide_for_rows(
    fitted: Fitted,
    X: Any,
    cost: Any,
    *,
    labels: Any = None,
    test_weight: Any = None,
    bound: float | None = None,
    seed: int = 0,
) -> Decision:
    """Run loss-EM for given rows, which optimises posterior and decisions there jointly.

    Args:
        fitted: a fit with a loss-EM as inference.
        X: the rows to decide.
        cost: the cost, as in `fit_exact_for_cost`.
        labels: the user's labels of the classes.
        test_weight: how often each of these rows occurs.
        bound: M of `lossem` eq. (7).
        seed: seed of random numbers.

    Returns:
        The actions of the algorithm, with costs expected under its posterior.
    """
    if not isinstance(fitted, FittedExact) or not inferences.create(fitted.inference).calibrated:
        kind = getattr(fitted, "inference", type(fitted).__name__)
        raise DirectGPError(
            f"only loss-EM fits its posterior to the rows it decides, got {kind}; train with "
            "inference='loss-em', 'linearised-loss-em' or 'ep-loss-em', or leave out transductive"
        )
    values = check_inputs(X, num_columns=len(fitted.inputs.shift))
    own = cost.for_labels(tuple(labels)) if labels is not None and isinstance(cost, Cost) else cost
    prices = _prices(own, len(values))
    here = fitted.calibrated(values, *prices, bound=bound, weights=test_weight, seed=seed)
    bayes = decide(here.predict(values), cost, labels)
    assert here.calibration is not None and isinstance(bayes.cost, TableCost)
    action = here.calibration.decisions.astype(bayes.action.dtype)
    averages = bayes.cost.averages(bayes.predictive)
    every = np.arange(len(values))
    other = 1 - action
    return replace(
        bayes,
        action=action,
        expected_cost=averages[every, action],
        second_best=other,
        second_best_cost=averages[every, other],
    )


def _prices(cost: Any, num_rows: int) -> tuple[Float[np.ndarray, "*S"], Float[np.ndarray, "*S"]]:
    """The prices of a false alarm and of a miss; a cost of another form is an error."""
    table = cost.table(num_rows) if isinstance(cost, TableCost) else np.ones((1, 1, 1))
    if table.shape[1:] != (2, 2) or np.any(table[:, [0, 1], [0, 1]]):
        raise DirectGPError(
            f"loss-EM needs two classes and two actions, of which the right one costs 0, got "
            f"{type(cost).__name__}; use BinaryCost(1, 20), or inference='ep' and decide()"
        )
    pair = table[:, 0, 1], table[:, 1, 0]
    return pair if len(table) > 1 else (pair[0].reshape(()), pair[1].reshape(()))


def _counts(sample_weight: Any, num_rows: int, inference: str) -> np.ndarray:
    """Row weights as whole numbers."""
    weight = check_weights(sample_weight, num_rows)
    if np.any(weight != np.round(weight)):
        wrong = weight[weight != np.round(weight)][0]
        raise DirectGPError(
            f"inference={inference!r} counts rows, so weights must be whole numbers, got "
            f"{wrong:g}; give a cost of mistakes (loss=BinaryCost(1, 20)), or leave out inference"
        )
    return weight.astype(np.intp)


def _check_use(inference: str, chosen: Inference, cost: Any, *for_calibration: Any) -> None:
    """Raise an error for a missing cost, and for options that have no effect."""
    if cost is not None and not isinstance(cost, Cost):
        raise DirectGPError(f"cost must be a Cost, got {cost!r}; use e.g. BinaryCost(1, 20)")
    if chosen.calibrated and cost is None:
        raise DirectGPError(
            f"inference={inference!r} needs the cost of mistakes; give loss=BinaryCost(1, 20), or "
            "use inference='ep'"
        )
    if not chosen.calibrated and any(option is not None for option in for_calibration):
        raise DirectGPError(
            f"X_test, test_weight and a bound of the cost have no effect on inference="
            f"{inference!r}; use one of {', '.join(calibrations)}, or leave them out"
        )
