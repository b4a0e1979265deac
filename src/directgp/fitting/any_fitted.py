"""`Fitted`: whatever a fit may return, for those who take any of them."""

from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.stacking import Stack

Fitted = FittedGP | Stack | FittedExact
