"""Scores of every test row of a run, in units that are comparable between tables.

Losses are those of standardised targets: the scale of y is its deviation in training rows, so
NLL is shifted by its log and CRPS and errors are divided by it. Counts keep their log score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.tables import Problem

COVERAGE = 0.9
_FLOOR = 1e-15


def row_losses(problem: Problem, predicted: Any, y: np.ndarray) -> dict[str, np.ndarray]:
    """Losses of every test row, float32.

    Numbers and counts: `nll`, `crps`, `square` and `inside` (the 90 % interval). Classes: `nll`,
    `brier`, `error`, and `confidence`, the probability of the class that is predicted.
    """
    if problem.kind == "classification":
        rows = _of_classes(np.asarray(predicted, dtype=np.float64), y)
    else:
        rows = _of_numbers(problem, predicted, y)
    bad = [name for name, values in rows.items() if not np.all(np.isfinite(values))]
    if bad:
        raise ValueError(f"{', '.join(bad)} of some test rows is not finite")
    return {name: np.asarray(values, dtype=np.float32) for name, values in rows.items()}


def _of_numbers(problem: Problem, forecast: Any, y: np.ndarray) -> dict[str, np.ndarray]:
    log_density = getattr(forecast, "log_prob", None) or forecast.log_density
    scale = float(problem.y.std()) or 1.0
    lower, upper = forecast.interval(COVERAGE)
    shift = np.log(scale) if problem.kind == "regression" else 0.0
    return {
        "nll": -np.asarray(log_density(y)) - shift,
        "crps": np.asarray(forecast.crps(y)) / scale,
        "square": ((y - np.asarray(forecast.mean)) / scale) ** 2,
        "inside": (lower <= y) & (y <= upper),
    }


def _of_classes(probabilities: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    p = np.clip(probabilities, _FLOOR, None)
    p /= p.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    truth = np.zeros_like(p)
    truth[rows, y] = 1.0
    return {
        "nll": -np.log(p[rows, y]),
        "brier": np.sum((p - truth) ** 2, axis=1),
        "error": np.argmax(p, axis=1) != y,
        "confidence": p.max(axis=1),
    }


def summary(losses: dict[str, np.ndarray]) -> dict[str, float]:
    """Means over test rows; `rmse` is the root of the mean square, `ece` the calibration error."""
    means = {name: float(np.mean(values, dtype=np.float64)) for name, values in losses.items()}
    if "square" in means:
        means["rmse"] = float(np.sqrt(means.pop("square")))
        means["coverage"] = means.pop("inside")
    if "confidence" in means:
        means.pop("confidence")
        means["ece"] = calibration_error(losses["confidence"], losses["error"])
    return means


def calibration_error(confidence: np.ndarray, error: np.ndarray, num_bins: int = 10) -> float:
    """Mean |share of right predictions − confidence| over bins of equal width, by their rows."""
    place = np.minimum((confidence * num_bins).astype(int), num_bins - 1)
    gap = (1.0 - error) - confidence
    return float(np.sum(np.abs(np.bincount(place, gap, num_bins))) / len(error))
