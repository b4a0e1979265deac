"""Scores of predictions: functions of (predictive, y), in the units of y.

    row scores    nll, mse, crps: proper scores, lower is better; interval_width: lower is sharper
    calibration   coverage, coverage_curve, pit: to be compared with the nominal level
    classes       error_rate, brier; expected_calibration_error, reliability_curve; auc,
                  precision_recall
    counts        mean_relative_error; randomised_pit
    joint         joint_nll, joint_score_table: the joint distribution of several outputs
    tables        score_table, score_table_with_errors

`score_table_with_errors` gives the standard errors too, which show whether a difference is
significant.
"""

from directgp.metrics.classes import (
    ReliabilityCurve,
    brier,
    error_rate,
    expected_calibration_error,
    reliability_curve,
)
from directgp.metrics.counts import mean_relative_error, randomised_pit
from directgp.metrics.joint import joint_nll, joint_row_scores, joint_score_table
from directgp.metrics.ranking import PrecisionRecall, auc, auc_with_error, precision_recall
from directgp.metrics.scores import (
    coverage,
    coverage_curve,
    crps,
    interval_width,
    mse,
    nll,
    nll_against_gaussian,
    pit,
    rmse,
    row_scores,
    score_table,
    score_table_with_errors,
    standard_error,
)

__all__ = [
    "PrecisionRecall",
    "ReliabilityCurve",
    "auc",
    "auc_with_error",
    "brier",
    "coverage",
    "coverage_curve",
    "crps",
    "error_rate",
    "expected_calibration_error",
    "interval_width",
    "joint_nll",
    "joint_row_scores",
    "joint_score_table",
    "mean_relative_error",
    "mse",
    "nll",
    "nll_against_gaussian",
    "pit",
    "precision_recall",
    "randomised_pit",
    "reliability_curve",
    "rmse",
    "row_scores",
    "score_table",
    "score_table_with_errors",
    "standard_error",
]
