"""Likelihoods p(y | f), one file each.

`integrands` has the functions of y and f that losses integrate over f, `closed_forms` the registry
of closed-form integrals. Links are classes, not options, because closed forms exist for some links
only.
"""

from directgp.likelihoods.base import Likelihood, likelihoods
from directgp.likelihoods.bernoulli import BernoulliLogit, BernoulliProbit
from directgp.likelihoods.categorical import Categorical
from directgp.likelihoods.closed_forms import closed_form, has_closed_form
from directgp.likelihoods.gaussian import Gaussian
from directgp.likelihoods.gaussian_outputs import GaussianOutputs, for_outputs
from directgp.likelihoods.integrands import (
    ConditionalMean,
    Integrand,
    LogNormalisedPower,
    LogPower,
    LogPowerIntegral,
    LogProb,
    SquaredError,
)
from directgp.likelihoods.negative_binomial import NegativeBinomialExp, NegativeBinomialSoftplus
from directgp.likelihoods.poisson import PoissonExp, PoissonSoftplus
from directgp.likelihoods.student_t import StudentT
from directgp.likelihoods.vector import (
    GaussianVector,
    ProductVector,
    VectorLikelihood,
    vector_of,
)

__all__ = [
    "BernoulliLogit",
    "BernoulliProbit",
    "Categorical",
    "ConditionalMean",
    "Gaussian",
    "GaussianOutputs",
    "GaussianVector",
    "Integrand",
    "Likelihood",
    "LogNormalisedPower",
    "LogPower",
    "LogPowerIntegral",
    "LogProb",
    "NegativeBinomialExp",
    "NegativeBinomialSoftplus",
    "PoissonExp",
    "PoissonSoftplus",
    "ProductVector",
    "SquaredError",
    "StudentT",
    "VectorLikelihood",
    "closed_form",
    "for_outputs",
    "has_closed_form",
    "likelihoods",
    "vector_of",
]
