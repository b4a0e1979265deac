"""Exact GPs for small data: regression, and classification by Laplace, EP and loss-EM.

finite       a GP as a finite vector v ~ N(0, I), exact or sparse
target       the density to approximate: the posterior, optionally times a utility
laplace, ep  Gaussian approximations with log marginal likelihood and gradients
importance, sampling   references: weighted draws, NUTS, elliptical slice sampling
classifier   `fit_exact`: a classifier by Laplace or EP, its kernel learned by marginal likelihood
learning, ep_rows, laplace_rows, links   its evidence with derivatives in the kernel matrix
calibrate    loss-EM of a fitted classifier for given test rows
regression, checked_regression, regression_objective, evidence, classification, leave_one_out,
matern_linear   fast NumPy GPs for the default stack and for `Exact`
utility, loss_em, linearised_loss_em, multiclass_loss_em   loss-calibrated inference (`lossem`)
"""

from directgp.exact.calibrate import calibrate
from directgp.exact.classifier import ExactGP, fit_exact
from directgp.exact.ep import ep
from directgp.exact.ep_by_row import ep_by_row
from directgp.exact.error_costs import ErrorCosts
from directgp.exact.finite import Features, FiniteGP, signed
from directgp.exact.importance import Weighted, importance, t_points
from directgp.exact.laplace import laplace
from directgp.exact.linearised_loss_em import Calibrated, linearised_loss_em
from directgp.exact.loss_em import loss_em
from directgp.exact.multiclass_loss_em import CalibratedClasses, multiclass_loss_em
from directgp.exact.posterior import Posterior
from directgp.exact.sampling import elliptical_slice, nuts
from directgp.exact.target import Target

__all__ = [
    "Calibrated",
    "CalibratedClasses",
    "ErrorCosts",
    "ExactGP",
    "Features",
    "FiniteGP",
    "Posterior",
    "Target",
    "Weighted",
    "calibrate",
    "elliptical_slice",
    "ep",
    "ep_by_row",
    "fit_exact",
    "importance",
    "laplace",
    "linearised_loss_em",
    "loss_em",
    "multiclass_loss_em",
    "nuts",
    "signed",
    "t_points",
]
