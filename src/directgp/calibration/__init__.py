"""Split conformal calibration: prediction intervals and sets with guaranteed coverage.

    finite_sample    the rank of n conformity scores that gives a coverage; none with too few rows
    conformity       conformity score of y under its predictive distribution, and the inverse
    conformal        `Calibration`: the conformity scores of held-out rows, by group
    recalibrated     the recalibrated predictive distribution, for decisions

The guarantee holds for any model, if the calibration rows were not used for training and are
exchangeable with the new rows.
"""

from directgp.calibration.conformal import KINDS, Calibration, check_coverage
from directgp.calibration.recalibrated import Recalibrated

__all__ = ["KINDS", "Calibration", "Recalibrated", "check_coverage"]
