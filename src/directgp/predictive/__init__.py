"""Predictive distributions: the distribution of y at each new row, in the user's units.

Everything here is NumPy in float64, without JAX, random keys or models.

    Predictive           the abstract interface: mean, quantiles, log_prob, cdf, sample, …
    GaussianMixture      p(y_n) = Σ_s w_sn N(y_n; m_sn, v_sn), for Gaussian likelihoods
    StudentTMixture      the same with heavy-tailed noise
    CountMixture         counts, given how they come from f (a `CountFamily`)
    Warped               y = h(z) with z a mixture of Gaussians: targets learned as logarithms
    ClassProbabilities   P(y = k), two classes or more
    JointPredictive      all outputs of a row together: covariances, correlated draws (abstract)
    JointGaussianMixture Gaussian noise, in closed form; `JointMixture` any other likelihood

A new likelihood subclasses `Predictive` and writes `mean`, `variance`, `log_prob`, `cdf`,
`sample`, `__len__` and `_take`; quantiles, intervals, the median and the CRPS then follow from the
cdf, and are overridden where a closed form exists.
"""

from directgp.predictive.base import Predictive, Rows, check_predictive, check_rows
from directgp.predictive.classes import ClassProbabilities
from directgp.predictive.counts import CountFamily, CountMixture
from directgp.predictive.gaussian import GaussianMixture
from directgp.predictive.joint import JointGaussianMixture, JointMixture, JointPredictive
from directgp.predictive.student_t import StudentTMixture
from directgp.predictive.warped import LogWarp, Warped

__all__ = [
    "ClassProbabilities",
    "CountFamily",
    "CountMixture",
    "GaussianMixture",
    "JointGaussianMixture",
    "JointMixture",
    "JointPredictive",
    "LogWarp",
    "Predictive",
    "Rows",
    "StudentTMixture",
    "Warped",
    "check_predictive",
    "check_rows",
]
