"""Gaussian-process classification for small data: Laplace, EP, and samplers to judge them by.

finite       a GP as a finite vector v ~ N(0, I), exact or sparse
target       the density to approximate: posterior, perhaps times a utility
laplace, ep  Gaussian approximations with log marginal likelihood and gradients
importance, sampling   references: weighted draws, NUTS, elliptical slice sampling
"""

from directgp.decisions.exact.ep import ep
from directgp.decisions.exact.ep_by_row import ep_by_row
from directgp.decisions.exact.finite import Features, FiniteGP, signed
from directgp.decisions.exact.importance import Weighted, importance, t_points
from directgp.decisions.exact.laplace import laplace
from directgp.decisions.exact.posterior import Posterior
from directgp.decisions.exact.sampling import elliptical_slice, nuts
from directgp.decisions.exact.target import Target

__all__ = [
    "Features",
    "FiniteGP",
    "Posterior",
    "Target",
    "Weighted",
    "elliptical_slice",
    "ep",
    "ep_by_row",
    "importance",
    "laplace",
    "nuts",
    "signed",
    "t_points",
]
