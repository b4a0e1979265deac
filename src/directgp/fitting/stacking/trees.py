"""Gradient-boosted trees (scikit-learn's), cross-fitted, and kept as plain arrays.

Arrays instead of scikit-learn's objects: they can be saved without pickle, and predict the same
whatever version of scikit-learn reads them.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

_EVERY = 10
"""Trees between two lengths that are compared."""
_LEAVES = 15, 31
_MANY_ROWS = 5000
_BINS = 255
"""The most values of a column that scikit-learn tells apart."""
_BLOCK = 512
"""Rows that go down all trees together."""
_RATES = (1500, 0.05), (1 << 62, 0.1)
"""Learning rate for fewer rows than these."""


class TreeEnsemble(NamedTuple):
    """A sum of regression trees: nodes of all trees in a row, `roots` says where each begins.

    A row goes left where x[feature] ≤ threshold. A leaf is its own child on both sides.
    """

    baseline: Float[np.ndarray, "1"]
    roots: Int[np.ndarray, "T"]
    feature: Int[np.ndarray, "K"]
    threshold: Float[np.ndarray, "K"]
    left: Int[np.ndarray, "K"]
    right: Int[np.ndarray, "K"]
    value: Float[np.ndarray, "K"]

    @classmethod
    def of(cls, model: Any, output: int = 0) -> "TreeEnsemble":
        """The trees of a fitted HistGradientBoosting model without categorical features.

        Args:
            model: scikit-learn's regressor or classifier.
            output: the class, where there are more than two: each has trees of its own.
        """
        # scikit-learn has no public way to its trees; this function is the only place that knows.
        trees = [together[output].nodes for together in model._predictors]
        sizes = [len(nodes) for nodes in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        nodes = np.concatenate(trees)
        own = np.arange(len(nodes), dtype=np.int64)
        offset = np.repeat(roots, sizes)
        leaf = nodes["is_leaf"].astype(bool)
        return cls(
            np.asarray(model._baseline_prediction, np.float64).ravel()[output : output + 1],
            roots,
            np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
            np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
            np.where(leaf, own, nodes["left"] + offset),
            np.where(leaf, own, nodes["right"] + offset),
            np.where(leaf, nodes["value"], 0.0).astype(np.float64),
        )

    @classmethod
    def constant(cls, value: float | int) -> "TreeEnsemble":
        """One value everywhere: a tree that is nothing but a leaf."""
        first, zero = np.zeros(1, np.int64), np.zeros(1)
        return cls(np.array([float(value)]), first, first, zero, first, first, zero)

    def predict(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        """The sum of the trees at every row (its logarithm for gamma and Poisson losses)."""
        total = np.full(len(X), self.baseline[0])
        for first in range(0, len(X), _BLOCK):
            own = slice(first, first + _BLOCK)
            # Tree after tree, as scikit-learn adds them: the sum of a row depends on no other row.
            for values in self.value[self._leaves(X[own])]:
                total[own] += values
        return total

    def _leaves(self, X: Float[np.ndarray, "N D"]) -> Int[np.ndarray, "T N"]:
        """The leaf of every tree that each row ends in; all trees go down together."""
        rows = np.arange(len(X))
        node = np.repeat(self.roots[:, None], len(X), axis=1)
        while True:
            goes_left = X[rows, self.feature[node]] <= self.threshold[node]
            following = np.where(goes_left, self.left[node], self.right[node])
            if np.array_equal(following, node):
                return node
            node = following


class CrossFitted(NamedTuple):
    """Trees of all rows, and what trees of the other folds predict at every row."""

    trees: TreeEnsemble
    out_of_fold: Float[np.ndarray, "N"]


def cross_fitted_trees(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    *,
    folds: int | None = None,
    max_trees: int | None = None,
    seed: int,
    loss: Literal["squared_error", "gamma", "poisson"] = "squared_error",
) -> CrossFitted:
    """Boost trees in every fold, as many as predict the rows of the other folds best.

    Args:
        X: inputs.
        y: targets; positive for the gamma loss.
        weight: of the rows.
        folds: parts of the rows that are left out in turn; None: 5, of many rows 3.
        max_trees: the most that are tried; None: 300, from 1,500 rows on 500.
        seed: of the folds.
        loss: "squared_error" for means, "gamma" for scales, "poisson" for rates of counts.

    Returns:
        Trees of all rows and out-of-fold predictions; logarithms for gamma and Poisson losses.
    """
    if np.ptp(weight) > 0:
        X = with_few_values(X)
    folds = (5 if len(y) < _MANY_ROWS else 3) if folds is None else folds
    max_trees = (300 if len(y) < _RATES[0][0] else 500) if max_trees is None else max_trees
    part = np.random.default_rng(seed).permutation(len(y)) % folds
    lengths = max(1, max_trees // _EVERY)
    predicted = np.zeros((lengths, len(y)))
    for fold in range(folds):
        own, others = part == fold, part != fold
        model = _boosted(X[others], y[others], weight[others], lengths * _EVERY, loss, seed)
        for step, values in enumerate(model.staged_predict(X[own])):
            if step % _EVERY == _EVERY - 1:
                predicted[step // _EVERY, own] = values
    if loss != "squared_error":
        predicted = np.log(np.maximum(predicted, np.finfo(float).tiny))
        rates = np.exp(predicted)
        losses = predicted + y / rates if loss == "gamma" else rates - y * predicted
        score = losses @ weight
    else:
        score = (predicted - y) ** 2 @ weight
    best = int(np.argmin(score))
    trees = _boosted(X, y, weight, (best + 1) * _EVERY, loss, seed)
    return CrossFitted(TreeEnsemble.of(trees), predicted[best])


def _boosted(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, number: int, loss: str, seed: int
) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows = len(y)
    return HistGradientBoostingRegressor(
        loss=loss,  # pyright: ignore[reportArgumentType]
        max_iter=number,
        learning_rate=next(rate for limit, rate in _RATES if rows < limit),
        max_leaf_nodes=_LEAVES[rows >= _MANY_ROWS],
        min_samples_leaf=int(np.clip(rows // 60, 5, 20)),
        l2_regularization=1.0,
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        random_state=seed,
    ).fit(X, y, sample_weight=weight if np.ptp(weight) > 0 else None)


def with_few_values(X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Every value replaced by the mean of its bin, of which a column has at most 255.

    scikit-learn would bin the same columns by weighted percentiles, one at a time, which takes
    longer than all the trees.
    """
    coarse = X.copy()
    for column in coarse.T:
        if len(np.unique(column)) > _BINS:
            edges = np.quantile(column, np.linspace(0.0, 1.0, _BINS + 1)[1:-1])
            _, number, count = np.unique(
                np.searchsorted(edges, column), return_inverse=True, return_counts=True
            )
            column[:] = (np.bincount(number, weights=column) / count)[number]
    return coarse
