"""What rows say of an exact GP that its hyperparameters have not seen."""

import numpy as np
import pytest

from directgp.exact import checked_regression as module
from directgp.exact.checked_regression import _ratio, _shrunk_ratio, checked_regression
from directgp.exact.leave_one_out import losses
from directgp.exact.regression import conditioned, exact_regression


def noise(rows, columns, seed=0):
    """Inputs that say nothing of the targets."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.normal(size=rows)


def sizes(predicted, y):
    return np.abs(y - predicted.mean) / np.sqrt(predicted.variance)


def test_the_ratio_of_many_errors_is_shrunk_where_they_are_few():
    drawn = np.abs(np.random.default_rng(0).normal(size=4000))
    assert _shrunk_ratio(drawn[:2000], drawn[2000:]) == pytest.approx(1.0, abs=0.03)
    assert _shrunk_ratio(drawn[:2000], 1.5 * drawn[2000:]) == pytest.approx(1.5, abs=0.06)
    assert 1.0 < _shrunk_ratio(drawn[:20], 1.5 * drawn[2000:2020]) < 1.45
    assert _shrunk_ratio(drawn, 0.5 * drawn) == 1.0
    assert _shrunk_ratio(np.zeros(30), drawn[:30]) == 1.0


def test_three_rows_without_optimism_are_added_to_those_of_the_folds():
    assert _ratio(2.0, 18.0, 9) == pytest.approx(np.sqrt((9 * 9 + 3) / 12))
    assert _ratio(2.0, 1.0, 9) == 1.0
    assert _ratio(0.0, 1.0, 9) == 1.0


@pytest.mark.parametrize("rows, seed", [(120, 2), (200, 0)])
def test_hyperparameters_of_many_columns_flatter_the_rows_they_saw(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 60))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=rows)
    checked = checked_regression(X, y)
    assert checked.optimism > 1.05
    assert checked.unseen is not None


@pytest.mark.parametrize(
    ("rows", "columns", "folds"),
    [(150, 2, True), (151, 2, False), (200, 11, True), (200, 10, False), (401, 40, False)],
)
def test_few_rows_and_wide_tables_have_folds(rows, columns, folds):
    # 2 columns have 5 hyperparameters, and 15 rows are wanted for each.
    X, y = noise(rows, columns)
    checked = checked_regression(X, y, max_steps=1)
    assert (checked.unseen is not None) == folds
    assert (checked.judged_gp is None) == folds


def test_folds_do_not_say_less_than_the_comparison_of_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 60))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=1200)
    checked = checked_regression(X[:200], y[:200])
    mean, variance = checked.gp.predict(X[200:])
    new = np.mean(np.abs(y[200:] - mean) / np.sqrt(variance))
    folds = np.mean(sizes(checked.judged, y[:200]))
    assert folds < 0.95 * new  # they go on from what all rows have found
    assert checked.further_optimism > 1.0
    assert 0.9 * new < checked.further_optimism * folds < 1.15 * new
    plain = np.mean(sizes(checked.gp.left_out, y[:200]))
    assert checked.at_least(3.0).further_optimism * folds == pytest.approx(3.0 * plain)


def test_errors_of_a_wide_table_are_those_of_new_rows():
    own, folds, new = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1200, 40))
        y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=1200)
        y /= np.std(y)
        checked = checked_regression(X[:200], y[:200], seed=seed)
        mean, variance = checked.gp.predict(X[200:])
        own.append(np.mean(sizes(checked.gp.left_out, y[:200])))
        folds.append(np.mean(sizes(checked.judged, y[:200])))
        new.append(np.mean(np.abs(y[200:] - mean) / np.sqrt(variance)))
    own, folds, new = (np.exp(np.mean(np.log(each))) for each in (own, folds, new))
    assert own < 0.93 * new  # what they correct
    assert 0.9 * new < folds < 1.2 * new


def test_errors_of_the_folds_are_those_of_new_rows():
    own, folds, new = [], [], []
    for seed in range(12):
        X, y = noise(40, 25, seed)
        further, targets = noise(400, 25, 1000 + seed)
        checked = checked_regression(X[:20], y[:20])
        mean, variance = checked.gp.predict(further)
        own.append(np.mean(sizes(checked.gp.left_out, y[:20])))
        folds.append(np.mean(sizes(checked.judged, y[:20])))
        new.append(np.mean(np.abs(targets - mean) / np.sqrt(variance)))
    own, folds, new = (np.exp(np.mean(np.log(each))) for each in (own, folds, new))
    assert own < 0.8 * new  # what they correct
    assert 0.8 * new < folds < 1.5 * new


def test_a_row_does_not_decide_on_its_own_prediction():
    X, error = noise(16, 3)
    y = np.sin(2 * X[:, 0]) + 0.2 * error
    moved = y.copy()
    moved[5] += 2.0
    one, other = (checked_regression(X, each, max_steps=300) for each in (y, moved))
    assert one.unseen is not None and other.unseen is not None
    # Hyperparameters of its fold have not seen it, up to where their minimisation begins.
    assert one.unseen.mean[5] == pytest.approx(other.unseen.mean[5], abs=1e-3)
    assert one.unseen.variance[5] == pytest.approx(other.unseen.variance[5], rel=1e-3)
    assert abs(one.gp.left_out.mean[5] - other.gp.left_out.mean[5]) > 0.01


def test_all_rows_go_on_from_the_best_minimum_that_a_fold_has_found(monkeypatch):
    X, y = noise(25, 1)
    good = np.append(exact_regression(X, y).kernel.log_parameters, 0.0)
    tried = iter([False, False, True, False, False])

    def found(problem, theta, steps):
        if len(problem.y) == 25:
            return theta
        return good if next(tried, False) else np.append(theta[:-1], -12.0)

    monkeypatch.setattr(module, "minimised", found)
    checked = checked_regression(X, y)
    assert checked.gp.log_noise == 0.0
    np.testing.assert_array_equal(checked.gp.kernel.log_parameters, good[:-1])


@pytest.mark.parametrize("objective", ["evidence", *losses])
def test_few_rows_give_finite_numbers_whatever_the_objective(objective):
    for rows in (2, 3, 7):
        X, y = noise(rows, 4)
        checked = checked_regression(X, y, objective=objective)
        assert checked.optimism >= 1.0 and checked.further_optimism == 1.0
        for part in (*checked.judged, *checked.gp.predict(X)):
            assert np.all(np.isfinite(part))
        assert np.all(checked.judged.variance > 0)


def test_one_row_is_judged_by_nothing():
    checked = checked_regression(np.zeros((1, 2)), np.zeros(1))
    assert checked.unseen is None and checked.judged is checked.gp.left_out


def test_few_rows_without_noise_are_no_surprise():
    X = np.linspace(-1, 1, 12)[:, None]
    checked = checked_regression(X, np.sin(2 * X[:, 0]))
    np.testing.assert_allclose(checked.gp.predict(X)[0], np.sin(2 * X[:, 0]), atol=0.1)


def test_what_is_judged_is_the_posterior_of_all_other_rows(monkeypatch):
    monkeypatch.setattr(module, "minimised", lambda problem, theta, steps: theta)
    X, y = noise(12, 1)
    checked = checked_regression(X, y)  # every fold keeps the first hyperparameters
    gp = checked.gp
    for row in range(12):
        others = np.arange(12) != row
        without = conditioned(X[others], y[others], np.ones(11), gp.kernel, gp.log_noise)
        mean, variance = without.predict(X[[row]])
        np.testing.assert_allclose(checked.judged.mean[row], mean[0], rtol=1e-6)
        np.testing.assert_allclose(checked.judged.variance[row], variance[0], rtol=1e-6)
