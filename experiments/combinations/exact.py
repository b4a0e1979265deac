"""Combinations of exact inference, which trains only the kernel, with every likelihood."""

import warnings

import numpy as np

from directgp.decisions import BinaryCost
from directgp.decisions.exact_inference import fit_exact_for_cost, inferences
from directgp.errors import DirectGPError
from directgp.exact.leave_one_out import losses as left_out_losses
from directgp.exact.regression import exact_regression
from directgp.likelihoods import likelihoods
from experiments.combinations.outcome import Outcome
from experiments.combinations.parts import Combination, table

EXACT = "exact"
"""The model of these outcomes; their loss is the inference, or the objective of the kernel."""
REGRESSION = "regression, "
STEPS = 3


def exact_combinations() -> list[Combination]:
    """Regression by every objective of its kernel, and every inference with every likelihood."""
    regression = [
        Combination(EXACT, "gaussian", f"{REGRESSION}{objective}")
        for objective in ("evidence", *left_out_losses)
    ]
    classes = [
        Combination(EXACT, likelihood, inference)
        for inference in inferences
        for likelihood in likelihoods
    ]
    return regression + classes


def exact_outcome(combination: Combination) -> Outcome:
    """Whether predictions are finite, or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few steps do not converge
            numbers = _predicted(combination)
    except DirectGPError as error:
        return Outcome(*combination, refusal=str(error))
    return Outcome(*combination, finite=(bool(np.isfinite(numbers).all()),))


def _predicted(combination: Combination) -> np.ndarray:
    X, y, _ = table("1 layer", combination.likelihood)
    if combination.loss.startswith(REGRESSION):
        objective = combination.loss.removeprefix(REGRESSION)
        fitted = exact_regression(X, y, objective=objective, max_steps=STEPS)
        return np.concatenate(fitted.predict(X))
    calibrated = inferences.create(combination.loss).calibrated
    fitted = fit_exact_for_cost(
        X, y, BinaryCost(false_positive=1, false_negative=5), inference=combination.loss,
        X_test=X if calibrated else None, likelihood=combination.likelihood, max_steps=STEPS,
    )  # fmt: skip
    return np.asarray(fitted.predict(X).probabilities)
