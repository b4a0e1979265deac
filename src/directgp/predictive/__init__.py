"""Predictive distributions of y at new rows, in the units of the user.

Everything is NumPy in float64, without JAX, random keys or models.

    Predictive           the abstract interface: mean, quantiles, log_prob, cdf, sample, …
    GaussianMixture      p(y_n) = Σ_s w_sn N(y_n; m_sn, v_sn), for Gaussian likelihoods
    StudentTMixture      the same with heavy-tailed noise
    CountMixture         counts, with p(y | f) given by a `CountFamily`
    Warped               y = h(z) with z a mixture of Gaussians: targets learned as logarithms
    ClassProbabilities   P(y = k), two classes or more
    JointPredictive      joint distribution of all outputs of a row: covariances, draws (abstract)
    JointGaussianMixture Gaussian noise, in closed form; `JointMixture` any other likelihood

A new likelihood subclasses `Predictive` and defines `mean`, `variance`, `log_prob`, `cdf`,
`sample`, `__len__` and `_take`. Quantiles, intervals, the median and the CRPS are computed from the
cdf, and may be overridden by closed forms.
"""

from directgp.predictive.base import Predictive, Rows, check_predictive, check_rows
from directgp.predictive.classes import ClassProbabilities
from directgp.predictive.count_family import CountFamily
from directgp.predictive.counts import CountMixture
from directgp.predictive.gaussian import GaussianMixture
from directgp.predictive.joint import JointMixture, JointPredictive
from directgp.predictive.joint_gaussian import JointGaussianMixture
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
