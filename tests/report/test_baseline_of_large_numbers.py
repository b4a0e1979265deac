"""What predictions are compared with exists for numbers of every size that a table can hold."""

import numpy as np
import pytest

from directgp.predictive import GaussianMixture
from directgp.report import Targets
from directgp.report.judged import baseline


@pytest.mark.parametrize("mean", [0.0, 1e100, 1e200, -1e300])
def test_the_baseline_of_large_numbers_has_a_finite_variance(mean):
    made = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    found = baseline(made, Targets(mean, 0.0, ()))
    assert np.all(found.mean == mean) and np.all(found.variance > 0)
    assert np.isfinite(found.variance).all()
