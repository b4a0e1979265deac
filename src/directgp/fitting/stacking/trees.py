"""Cross-fitted gradient-boosted trees of scikit-learn, stored as arrays.

Unlike scikit-learn's objects, arrays can be saved without pickle and do not depend on its version.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from directgp.linalg.lean_imports import lean_imports

with lean_imports():
    from sklearn.base import clone

_EVERY = 10
"""Numbers of trees are compared in steps of this size."""
_ROUND, _PATIENCE = 10, 5
"""In units of `_EVERY` trees: the growth of all folds per round, and the patience."""
_LEAVES = 15, 31
_MANY_ROWS = 5000
_BINS = 255
"""Maximum number of distinct values of a column in scikit-learn."""
_BLOCK = 512
"""Rows per block of predictions."""
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
        # scikit-learn has no public access to its trees; only this function uses its private names.
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
        """An ensemble that predicts a constant."""
        first, zero = np.zeros(1, np.int64), np.zeros(1)
        return cls(np.array([float(value)]), first, first, zero, first, first, zero)

    def predict(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        """The sum of the trees at every row (its logarithm for gamma and Poisson losses)."""
        known = _predicted.get()
        for rows, trees, total in known or ():
            if rows is X and all(map(np.array_equal, trees, self)):
                return total
        total = np.full(len(X), self.baseline[0])
        children = np.column_stack([self.right, self.left]).ravel()
        for first in range(0, len(X), _BLOCK):
            own = slice(first, first + _BLOCK)
            # Summed in the order of scikit-learn, so that the sum of a row depends on no other row.
            for values in self.value[self._leaves(X[own], children)]:
                total[own] += values
        if known is not None:
            known.append((X, self, total))
        return total

    def _leaves(
        self, X: Float[np.ndarray, "N D"], children: Int[np.ndarray, "K2"]
    ) -> Int[np.ndarray, "T N"]:
        """The leaf of every tree that each row ends in; all trees go down together.

        Args:
            X: rows.
            children: the right and the left child of every node in turn.
        """
        values, row = np.ascontiguousarray(X).ravel(), np.arange(len(X)) * X.shape[1]
        node = np.repeat(self.roots[:, None], len(X), axis=1)
        while True:
            value = values.take(row + self.feature.take(node))
            following = children.take(2 * node + (value <= self.threshold.take(node)))
            if np.array_equal(following, node):
                return node
            node = following


_predicted: ContextVar[list[tuple[np.ndarray, TreeEnsemble, np.ndarray]] | None]
_predicted = ContextVar("predicted", default=None)
"""Rows, the trees that have predicted them, and what they predicted."""


@contextmanager
def trees_predict_once() -> Iterator[None]:
    """In the block equal trees predict the same rows once: members of a stack share theirs."""
    token = _predicted.set([])
    try:
        yield
    finally:
        _predicted.reset(token)


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
    deadline: float = np.inf,
) -> CrossFitted:
    """Boost trees in every fold, with the number of trees that minimises the out-of-fold loss.

    Args:
        X: inputs.
        y: targets; positive for the gamma loss.
        weight: of the rows.
        folds: parts of the rows that are left out in turn; None: 5, of many rows 3.
        max_trees: the most that are tried; None: 300, from 1,500 rows on 500.
        seed: of the folds.
        loss: "squared_error" for means, "gamma" for scales, "poisson" for rates of counts.
        deadline: of `time.monotonic()`; no more trees are grown after it.

    Returns:
        Trees of all rows and out-of-fold predictions; logarithms for gamma and Poisson losses.
    """
    if np.ptp(weight) > 0:
        X = with_few_values(X)
    folds = (5 if len(y) < _MANY_ROWS else 3) if folds is None else folds
    max_trees = (300 if len(y) < _RATES[0][0] else 500) if max_trees is None else max_trees
    part = np.random.default_rng(seed).permutation(len(y)) % folds
    found = boost_in_folds(
        _boosted(len(y), loss, seed),
        (X, y, weight),
        part,
        most=max_trees,
        stages=lambda model, rows: model.staged_predict(rows),
        score=lambda predicted: _losses(predicted, y, loss) @ weight,
        deadline=deadline,
    )
    out_of_fold = found.out_of_fold
    if loss != "squared_error":
        out_of_fold = _log(out_of_fold)
    return CrossFitted(TreeEnsemble.of(found.model), out_of_fold)


class Boosted(NamedTuple):
    """A boosted model of all rows, and what models of the other folds predict at every row."""

    model: Any
    out_of_fold: Float[np.ndarray, "N *K"]


def boost_in_folds(
    model: Any,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    part: Int[np.ndarray, "N"],
    *,
    most: int,
    stages: Callable[[Any, np.ndarray], Iterable[np.ndarray]],
    score: Callable[[np.ndarray], np.ndarray],
    deadline: float = np.inf,
) -> Boosted:
    """Boost in every fold until the out-of-fold loss stops falling, then on all rows.

    All folds grow together, by 100 trees per round, until the best number of trees is at least 50
    below the current one.

    Args:
        model: scikit-learn's, not fitted, with `warm_start`.
        rows: inputs [N D], targets [N] and weights [N].
        part: the fold of every row; −1 for rows that are never left out.
        most: trees that are tried at most (for each class).
        stages: predictions of a fitted model at rows, after each tree.
        score: the loss of out-of-fold predictions [L N …] for L numbers of trees.
        deadline: of `time.monotonic()`; the first 100 trees grow in any case.

    Returns:
        The model, and out-of-fold predictions; 0 for rows that are never left out.
    """
    X, y, weight = rows
    models: list[Any] = [clone(model) for _ in range(int(part.max()) + 1)]
    lengths = max(1, most // _EVERY)
    predicted, best, goes_on = np.zeros((0, len(y))), 0, True
    while goes_on:
        known = len(predicted)
        reached = min(known + _ROUND, lengths)
        for fold, grown in enumerate(models):
            own, others = part == fold, part != fold
            grown.set_params(max_iter=reached * _EVERY)
            _fit(grown, X[others], y[others], weight[others])
            later = islice(stages(grown, X[own]), (known + 1) * _EVERY - 1, None, _EVERY)
            found = np.array(list(later))
            if fold == 0:  # the shape of a prediction is known from here on
                shape = len(y), *found.shape[2:]
                more = np.zeros((reached - known, *shape))
                predicted = np.concatenate([predicted.reshape(known, *shape), more])
            predicted[known:, own] = found
        best = int(np.argmin(score(predicted)))
        falling = reached < lengths and best + _PATIENCE >= reached
        goes_on = falling and time.monotonic() < deadline
    final: Any = clone(model)
    _fit(final.set_params(max_iter=(best + 1) * _EVERY), X, y, weight)
    return Boosted(final, predicted[best])


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(values, np.finfo(float).tiny))


def _losses(predicted: np.ndarray, y: np.ndarray, loss: str) -> np.ndarray:
    """The loss of every row, up to what does not depend on the prediction."""
    if loss == "squared_error":
        return (predicted - y) ** 2
    logs = _log(predicted)
    return logs + y / np.exp(logs) if loss == "gamma" else np.exp(logs) - y * logs


def _boosted(rows: int, loss: str, seed: int) -> Any:
    """An unfitted boosting model for a table of this size."""
    with lean_imports():
        from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        loss=loss,  # pyright: ignore[reportArgumentType]
        learning_rate=next(rate for limit, rate in _RATES if rows < limit),
        max_leaf_nodes=_LEAVES[rows >= _MANY_ROWS],
        min_samples_leaf=int(np.clip(rows // 60, 5, 20)),
        l2_regularization=1.0,
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        warm_start=True,
        random_state=seed,
    )


def _fit(model: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    """Boost up to the number of trees of the model; existing trees are kept."""
    return model.fit(X, y, sample_weight=weight if np.ptp(weight) > 0 else None)


def with_few_values(X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Replace every value by the mean of its bin, with at most 255 bins per column.

    scikit-learn would bin columns by weighted percentiles, which takes longer than all the trees.
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
