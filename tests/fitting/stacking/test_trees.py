"""Trees as arrays predict as scikit-learn does; out-of-fold predictions have not seen their row."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from directgp.fitting.stacking.trees import (
    TreeEnsemble,
    cross_fitted_trees,
    trees_predict_once,
    with_few_values,
)


def table(rng, rows=80):
    X = rng.normal(size=(rows, 3))
    return X, np.where(X[:, 0] > 0, 1.0, -1.0) + 0.1 * rng.normal(size=rows)


def fitted(rng, rows=80, weight=None, **options):
    X, y = table(rng, rows)
    weight = np.ones(rows) if weight is None else weight
    given = {"folds": 4, "max_trees": 30, "seed": 0} | options
    return X, y, cross_fitted_trees(X, y, weight, **given)


def test_predictions_are_those_of_scikit_learn(rng):
    X, y = table(rng, 200)
    model = HistGradientBoostingRegressor(max_iter=23, min_samples_leaf=5).fit(X, y)
    trees = TreeEnsemble.of(model)
    new = np.concatenate([X, 3 * rng.normal(size=(700, 3)), np.full((1, 3), 1e300)])
    np.testing.assert_allclose(trees.predict(new), model.predict(new), rtol=1e-14, atol=1e-14)
    assert len(trees.roots) == 23


def test_rows_on_a_threshold_go_left_as_in_scikit_learn(rng):
    X = rng.integers(0, 5, (120, 2)).astype(float)
    model = HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=2).fit(X, X[:, 0] > 2)
    trees = TreeEnsemble.of(model)
    inner = trees.left != np.arange(len(trees.left))
    new = np.zeros((inner.sum(), 2))
    new[np.arange(len(new)), trees.feature[inner]] = trees.threshold[inner]
    np.testing.assert_allclose(trees.predict(new), model.predict(new), rtol=1e-14)


def test_trees_of_a_gamma_loss_predict_logarithms(rng):
    X, y = table(rng)
    model = HistGradientBoostingRegressor(loss="gamma", max_iter=10).fit(X, np.exp(y))
    np.testing.assert_allclose(TreeEnsemble.of(model).predict(X), np.log(model.predict(X)))
    found = cross_fitted_trees(
        X, np.exp(y), np.ones(80), folds=3, max_trees=20, seed=0, loss="gamma"
    )
    assert np.corrcoef(found.out_of_fold, y)[0, 1] > 0.8


def test_trees_that_are_single_leaves():
    model = HistGradientBoostingRegressor(max_iter=3).fit(np.zeros((30, 1)), np.full(30, 2.5))
    assert TreeEnsemble.of(model).predict(np.ones((2, 1))).tolist() == [2.5, 2.5]


def test_a_row_alone_is_predicted_to_the_same_bit(rng):
    X, _, found = fitted(rng, rows=600)
    together = found.trees.predict(X)
    alone = np.concatenate([found.trees.predict(X[[row]]) for row in range(0, 600, 37)])
    np.testing.assert_array_equal(together[::37], alone)
    assert found.trees.predict(X[:0]).shape == (0,)


def test_out_of_fold_predictions_have_not_seen_their_row(rng):
    X, y, usual = fitted(rng, max_trees=10)  # one length: an outlier cannot change it
    spoilt = y.copy()
    spoilt[7] = 1e6
    with_outlier = cross_fitted_trees(X, spoilt, np.ones(80), folds=4, max_trees=10, seed=0)
    part = np.random.default_rng(0).permutation(80) % 4
    same = part == part[7]
    np.testing.assert_array_equal(usual.out_of_fold[same], with_outlier.out_of_fold[same])
    assert np.all(with_outlier.out_of_fold[~same] > usual.out_of_fold[~same] + 100)


def test_as_many_trees_as_are_best_out_of_fold(rng):
    X = rng.normal(size=(80, 3))
    noise = cross_fitted_trees(X, rng.normal(size=80), np.ones(80), folds=4, max_trees=60, seed=0)
    assert len(noise.trees.roots) == 10  # every further tree learns noise
    _, _, signal = fitted(rng, max_trees=60)
    assert len(signal.trees.roots) > 10


def test_out_of_fold_errors_are_those_of_new_rows(rng):
    X, y, found = fitted(rng, rows=400)
    new, truth = table(rng, 400)
    out_of_fold = np.sqrt(np.mean((found.out_of_fold - y) ** 2))
    unseen = np.sqrt(np.mean((found.trees.predict(new) - truth) ** 2))
    seen = np.sqrt(np.mean((found.trees.predict(X) - y) ** 2))
    assert 0.7 < out_of_fold / unseen < 1.5
    assert seen < out_of_fold


def test_the_same_seed_gives_the_same_trees(rng):
    X, y, one = fitted(rng)
    two = cross_fitted_trees(X, y, np.ones(80), folds=4, max_trees=30, seed=0)
    other = cross_fitted_trees(X, y, np.ones(80), folds=4, max_trees=30, seed=1)
    np.testing.assert_array_equal(one.out_of_fold, two.out_of_fold)
    assert not np.array_equal(one.out_of_fold, other.out_of_fold)


def test_weights_count(rng):
    X = np.zeros((400, 1)) + rng.normal(size=(400, 1))
    y = np.repeat([0.0, 1.0], 200)
    weight = np.where(y > 0, 3.0, 1.0)
    found = cross_fitted_trees(X, y, weight, folds=4, max_trees=10, seed=0)
    assert abs(found.out_of_fold.mean() - 0.75) < 0.1
    equal = cross_fitted_trees(X, y, np.full(400, 7.0), folds=4, max_trees=10, seed=0)
    plain = cross_fitted_trees(X, y, np.ones(400), folds=4, max_trees=10, seed=0)
    np.testing.assert_array_equal(equal.out_of_fold, plain.out_of_fold)


@pytest.mark.parametrize("distinct", [10, 255, 1000])
def test_columns_with_few_values_keep_their_order(distinct, rng):
    X = np.column_stack([rng.choice(rng.normal(size=distinct), 2000), np.ones(2000)])
    coarse = with_few_values(X)
    assert len(np.unique(coarse[:, 0])) <= 255
    order = np.argsort(X[:, 0], kind="stable")
    assert np.all(np.diff(coarse[order, 0]) >= 0)
    if distinct <= 255:
        np.testing.assert_array_equal(coarse, X)
    np.testing.assert_allclose(coarse.mean(axis=0), X.mean(axis=0), atol=1e-12)


def test_equal_trees_predict_the_same_rows_once(rng, monkeypatch):
    X, _, found = fitted(rng)
    trees, walk, walks = found.trees, TreeEnsemble._leaves, []
    monkeypatch.setattr(TreeEnsemble, "_leaves", lambda *given: walks.append(1) or walk(*given))
    alone, copied = trees.predict(X), TreeEnsemble(*(part.copy() for part in trees))
    higher = trees._replace(baseline=trees.baseline + 1.0)
    with trees_predict_once():
        shared = [trees.predict(X), copied.predict(X), trees.predict(X.copy())]
        np.testing.assert_allclose(higher.predict(X), alone + 1.0)
    assert len(walks) == 1 + 2 + 1  # rows that are another array are walked again
    assert all(np.array_equal(each, alone) for each in shared)
    trees.predict(X)
    assert len(walks) == 5
