"""Rows as estimators train on them: weights are checked, equal rows are merged."""

import numpy as np
import pytest

from directgp.errors import DirectGPError
from directgp.estimators.rows import checked_weights


@pytest.mark.parametrize("given", [None, 2.0, [1, 2, 3], np.array([0.0, 0.5, 1.0], np.float32)])
def test_weights_become_one_float64_for_each_row(given):
    weight = checked_weights(given, 3)
    assert weight.dtype == np.float64
    np.testing.assert_array_equal(weight, np.broadcast_to(1.0 if given is None else given, 3))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1.0, 2.0], r"each of 3 rows, got shape \(2,\); give an array of 3"),
        ([[1.0], [1.0], [1.0]], r"got shape \(3, 1\)"),
        ([1.0, -2.0, 1.0], "not negative, got -2; give a row"),
        (float("nan"), "finite and not negative, got nan"),
        ([0, 0, 0], "at least one non-zero number, got only zeros"),
        (0, "got only zeros"),
    ],
)
def test_weights_that_mean_nothing_are_refused(given, said):
    with pytest.raises(DirectGPError, match=said):
        checked_weights(given, 3)


def test_weights_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        checked_weights([1.0, np.nan, 1.0], 3)
