"""What a user gets back from any model: the distribution of y at each new row, in the user's units.

Everything here is plain numpy in float64 on the host: no JAX, no keys, no model.

    Predictive           what every predictive distribution can be asked (abstract)
    GaussianMixture      p(y_n) = Σ_s w_sn N(y_n; m_sn, v_sn): the answer of Gaussian likelihoods
    StudentTMixture      the same with heavy-tailed noise
    CountMixture         counts, given how they come from f (a `CountFamily`)
    ClassProbabilities   P(y = k), two classes or more

A new likelihood subclasses `Predictive` and writes `mean`, `variance`, `log_prob`, `cdf`,
`sample`, `__len__` and `_take`; quantiles, intervals, the median and the CRPS then follow from the
cdf, and are overridden where a closed form exists.
"""

from directgp.predictive.base import Predictive, Rows, check_predictive, check_rows
from directgp.predictive.classes import ClassProbabilities
from directgp.predictive.counts import CountFamily, CountMixture
from directgp.predictive.gaussian import GaussianMixture
from directgp.predictive.student_t import StudentTMixture

__all__ = [
    "ClassProbabilities",
    "CountFamily",
    "CountMixture",
    "GaussianMixture",
    "Predictive",
    "Rows",
    "StudentTMixture",
    "check_predictive",
    "check_rows",
]
