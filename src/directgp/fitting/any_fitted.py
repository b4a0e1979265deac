"""`Fitted`: the union of all types that a fit may return."""

from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.stacking import Stack

Fitted = FittedGP | Stack | FittedExact | FittedExactRegression
