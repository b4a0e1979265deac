"""Split conformal calibration: intervals and sets whose coverage is guaranteed by fresh rows.

    finite_sample    which rank of n scores gives a promised coverage, and with too few rows none
    conformity       how typical an observed y is of its predictive distribution, and the inverse
    conformal        `Calibration`: the scores of fresh rows, by group
    recalibrated     the predictive distribution after its calibration, for decisions

The guarantee needs rows that are exchangeable with the new ones and that the model was not trained
on; it needs nothing of the model.
"""

from directgp.calibration.conformal import KINDS, Calibration, check_coverage
from directgp.calibration.recalibrated import Recalibrated

__all__ = ["KINDS", "Calibration", "Recalibrated", "check_coverage"]
