"""Likelihoods: how an observation comes from latent values, one file each.

`integrands` names what is integrated over f; `closed_forms` holds the formulas that exist.
"""

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.closed_forms import closed_form, has_closed_form
from directgp.likelihoods.gaussian import Gaussian
from directgp.likelihoods.integrands import ConditionalMean, Integrand, LogProb, SquaredError
from directgp.registry import Registry

likelihoods = Registry("likelihood")
likelihoods.register("gaussian")(Gaussian)

__all__ = [
    "ConditionalMean",
    "Gaussian",
    "Integrand",
    "Likelihood",
    "LogProb",
    "SquaredError",
    "closed_form",
    "has_closed_form",
    "likelihoods",
]
