"""Predictions whose mean or variance would be infinite end in one line."""

import numpy as np

from directgp.errors import DirectGPError
from directgp.predictive import ClassProbabilities, CountMixture, Predictive

NOT_FINITE = (
    "this model predicts numbers that are not finite; fit it again, with a larger beta or a "
    "smaller learning_rate"
)
_LARGEST_LOG_RATE = 300.0
"""Of counts: the square of a larger rate would be infinite soon."""


def with_finite_variance(predictive: Predictive) -> Predictive:
    """The distribution, if its variances in the user's units are finite."""
    if not isinstance(predictive, ClassProbabilities | CountMixture):
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(predictive.variance).all():
                raise DirectGPError(NOT_FINITE)
    return predictive


def check_rates(predictive: CountMixture) -> None:
    """Refuse counts whose variance, near E[rate²] = rate(m + v)² for a log link, is infinite."""
    largest = np.max(predictive.means + predictive.variances, initial=0.0, keepdims=True)
    if np.any(predictive.family.log_rate(largest) > _LARGEST_LOG_RATE):
        raise DirectGPError(NOT_FINITE)
