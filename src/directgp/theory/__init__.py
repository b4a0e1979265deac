"""The convergence theory of `dlm` section 4 as numbers: how many samples bMC needs, and why.

`bounds` holds the constants (B, b′, B′, b″, B″) of Assumption 3 for each likelihood,
`sample_size` the L of Corollaries 5 and 9, and `gradients` measures what an expectation's
gradients are like on a real model (conditions (i) and (ii), bias);
`directgp.plots.gradient_histograms` draws that.
"""

from directgp.theory.bounds import Bounds, paper_bounds, scan_bounds, tight_bounds
from directgp.theory.gradients import GradientStatistics, gradient_statistics
from directgp.theory.sample_size import (
    ExpectedDerivatives,
    expected_derivatives,
    samples_for_convergence,
    samples_for_smooth_convergence,
)

__all__ = [
    "Bounds",
    "ExpectedDerivatives",
    "GradientStatistics",
    "expected_derivatives",
    "gradient_statistics",
    "paper_bounds",
    "samples_for_convergence",
    "samples_for_smooth_convergence",
    "scan_bounds",
    "tight_bounds",
]
