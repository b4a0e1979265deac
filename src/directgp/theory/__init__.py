"""Theory as numbers: the convergence of `dlm` section 4, and certificates of expected losses.

`bounds` has the constants (B, b′, B′, b″, B″) of Assumption 3 for each likelihood, `sample_size`
the L of Corollaries 5 and 9, and `gradients` statistics of sampled gradients (conditions (i) and
(ii), bias), which `directgp.plots.gradient_histograms` plots. `certificates` has upper bounds of
expected losses from held-out rows or by PAC-Bayes, `decision_theory` posterior risks (`lossem`).
"""

from directgp.theory.bounds import Bounds, paper_bounds, scan_bounds, tight_bounds
from directgp.theory.certificates import (
    Certificate,
    holdout_certificate,
    kl_inverse,
    pac_bayes_bound,
    pac_bayes_certificate,
)
from directgp.theory.gradients import GradientStatistics, gradient_statistics
from directgp.theory.sample_size import (
    ExpectedDerivatives,
    expected_derivatives,
    samples_for_convergence,
    samples_for_smooth_convergence,
)

__all__ = [
    "Bounds",
    "Certificate",
    "ExpectedDerivatives",
    "GradientStatistics",
    "expected_derivatives",
    "gradient_statistics",
    "holdout_certificate",
    "kl_inverse",
    "pac_bayes_bound",
    "pac_bayes_certificate",
    "paper_bounds",
    "samples_for_convergence",
    "samples_for_smooth_convergence",
    "scan_bounds",
    "tight_bounds",
]
