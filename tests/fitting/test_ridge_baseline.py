"""The linear baseline is scikit-learn's ridge regression, and is read back as it was written."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from directgp.errors import DirectGPError
from directgp.fitting.ridge_baseline import _PENALTIES, RidgeBaseline


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(30, 8)) * np.logspace(-2, 2, 8)
    return X, 5.0 + X[:, 3] + 2.0 * rng.normal(size=30)


def test_it_is_the_ridge_regression_with_the_least_leave_one_out_error(rows):
    X, y = rows
    scaled = (X - X.mean(0)) / X.std(0)
    errors = [
        np.mean((y - cross_val_predict(Ridge(alpha=30 * p), scaled, y, cv=LeaveOneOut())) ** 2)
        for p in _PENALTIES
    ]
    best = Ridge(alpha=30 * _PENALTIES[int(np.argmin(errors))]).fit(scaled, y)
    found = RidgeBaseline.fit(X, y)
    np.testing.assert_allclose(found.predict(X).mean, best.predict(scaled), rtol=1e-8)
    np.testing.assert_allclose(found.deviation, np.sqrt(np.min(errors)), rtol=1e-8)


def test_columns_and_targets_that_are_constant(rng):
    X = np.column_stack([np.full(9, 3.0), rng.normal(size=9)])
    constant = RidgeBaseline.fit(X, np.full(9, 7.0))
    np.testing.assert_allclose(constant.predict(X).mean, 7.0)
    assert constant.deviation > 0 and np.all(np.isfinite(RidgeBaseline.fit(X, X[:, 1]).slopes))
    assert np.isfinite(RidgeBaseline.fit(X[:2], np.array([1.0, 2.0])).deviation)


def test_columns_and_targets_of_any_size(rng):
    X = rng.normal(size=(40, 3))
    X[:, 0] *= 1e300  # whose variance is infinite
    X[3, 1] = 1e305
    found = RidgeBaseline.fit(X, 2e100 * X[:, 2])
    assert np.all(found.slopes[:2] == 0.0) and np.isfinite(found.slopes).all()
    assert 0 < found.deviation < 1e100
    np.testing.assert_allclose(found.predict(X).mean, 2e100 * X[:, 2], rtol=0.01, atol=1e97)


def test_a_file_holds_it_and_what_is_none_is_refused(rows):
    found = RidgeBaseline.fit(*rows)
    again = RidgeBaseline.of(json.loads(found.to_json()), 8)
    np.testing.assert_array_equal(again.predict(rows[0]).mean, found.predict(rows[0]).mean)
    for stored in ([[1.0], 0.0, 1.0], [[1.0] * 8, 0.0, -1.0], [["a"] * 8, 0.0, 1.0], {}, None):
        with pytest.raises(DirectGPError, match="the linear baseline is none"):
            RidgeBaseline.of(stored, 8)
