"""Scores of the joint distribution of several outputs."""

from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError, WrongType
from directgp.metrics.scores import standard_error
from directgp.predictive.joint import JointPredictive, check_output_rows


def joint_row_scores(joint: JointPredictive, Y: Any) -> dict[str, Float[np.ndarray, "N"]]:
    """−log p(y_1, …, y_T) and Σ_t −log p(y_t) of every row with a measured output.

    Their difference is the gain from the correlations between outputs.

    Args:
        joint: from `predict_joint`.
        Y: the outputs [N T], NaN where one was not measured.
    """
    if not isinstance(joint, JointPredictive):
        raise WrongType(
            f"joint must be what predict_joint(X) returns, got {type(joint).__name__}; give it "
            "first, then Y"
        )
    Y, measured = check_output_rows(Y, len(joint), joint.num_outputs)
    if not np.all(np.isfinite(Y) | ~measured):
        raise DirectGPError("Y must be finite to be scored, got an infinite value; drop these rows")
    known = measured.any(axis=1)
    if not known.any():
        raise DirectGPError("there are no measured outputs to score; give rows that have some")
    apart = np.zeros(len(joint))
    for t, own in enumerate(joint.marginals):
        rows = np.flatnonzero(measured[:, t])
        if len(rows):
            apart[rows] -= own[rows].log_prob(Y[rows, t])
    return {"joint_nll": -joint.log_prob(Y)[known], "sum_of_nll": apart[known]}


def joint_nll(joint: JointPredictive, Y: Any) -> float:
    """Mean joint log loss of whole rows, −log p(y_1, …, y_T), in nats a row: lower is better.

    Outputs that are NaN are integrated out.

    Args:
        joint: from `predict_joint`.
        Y: the outputs [N T], NaN where one was not measured.

    >>> from directgp.predictive import JointGaussianMixture
    >>> one = np.ones((1, 1, 1))
    >>> p = JointGaussianMixture(0 * one, one, np.ones((2, 1)), [0.0], [0.01, 0.01], [0.0, 0.0])
    >>> joint_nll(p, [[1.0, 1.0]]) < joint_nll(p, [[1.0, -1.0]]) - 90
    True
    """
    return float(np.mean(joint_row_scores(joint, Y)["joint_nll"]))


def joint_score_table(joint: JointPredictive, Y: Any) -> dict[str, tuple[float, float]]:
    """(mean, standard error) of each of `joint_row_scores`, and of their difference, the gain.

    Args:
        joint: from `predict_joint`.
        Y: the outputs [N T], NaN where one was not measured.
    """
    scores = joint_row_scores(joint, Y)
    scores["gain"] = scores["sum_of_nll"] - scores["joint_nll"]
    return {name: standard_error(values) for name, values in scores.items()}
