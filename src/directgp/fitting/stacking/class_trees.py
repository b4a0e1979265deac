"""Gradient-boosted trees of classes (scikit-learn's), cross-fitted, and kept as plain arrays."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax

from directgp.fitting.stacking.logistic import CrossFittedClasses, out_of_fold_loss
from directgp.fitting.stacking.trees import TreeEnsemble, with_few_values

_EVERY = 10
"""Trees between two lengths that are compared."""
_RATE, _LEAVES, _MOST_TREES, _TREES_OF_MANY = 0.1, 15, 150, 300
_MANY_ROWS = 5000
_MOST_OF_ALL = 600
"""Trees of all classes together, where they are many: each step of boosting is one tree a class."""
_NEVER = -30.0
"""The log odds of a class that no row has."""


class ClassTrees(NamedTuple):
    """Log odds of the classes up to a constant: a sum of trees for each, softmax of all."""

    ensembles: tuple[TreeEnsemble, ...]

    def log_probabilities(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Of every class at standardised rows."""
        return log_softmax(np.column_stack([own.predict(X) for own in self.ensembles]), axis=1)

    @classmethod
    def of(cls, model: Any, num_classes: int) -> "ClassTrees":
        """The trees of a fitted HistGradientBoostingClassifier of class numbers below K."""
        known = [int(label) for label in model.classes_]
        made = dict.fromkeys(range(num_classes), TreeEnsemble.constant(_NEVER))
        if len(known) == 2:  # one sum of trees for the log odds of the second
            made[known[0]] = TreeEnsemble.constant(0.0)
            made[known[1]] = TreeEnsemble.of(model)
        else:
            made |= {label: TreeEnsemble.of(model, k) for k, label in enumerate(known)}
        return cls(tuple(made.values()))


def cross_fitted_class_trees(
    X: Float[np.ndarray, "N D"],
    y: Int[np.ndarray, "N"],
    num_classes: int,
    weight: Float[np.ndarray, "N"],
    part: Int[np.ndarray, "N"],
    seed: int,
) -> CrossFittedClasses:
    """Boost trees in every fold, as many as predict rows of the other folds best.

    Args:
        X: inputs.
        y: the numbers of the classes: two or more in every set of all folds but one.
        num_classes: K.
        weight: of the rows.
        part: the fold of every row; −1 for rows that are never left out.
        seed: of the trees.
    """
    if np.ptp(weight) > 0:
        X = with_few_values(X)
    columns = 1 if num_classes == 2 else num_classes
    most = _MOST_TREES if len(y) < _MANY_ROWS else _TREES_OF_MANY
    lengths = max(3, min(most, _MOST_OF_ALL // columns) // _EVERY)
    rows = np.flatnonzero(part >= 0)
    logs = np.full((lengths, len(rows), num_classes), _NEVER)
    for fold in range(int(part.max()) + 1):
        own, others = np.flatnonzero(part[rows] == fold), part != fold
        model = _boosted(X[others], y[others], weight[others], lengths * _EVERY, seed)
        for step, found in enumerate(model.staged_predict_proba(X[rows[own]])):
            if step % _EVERY == _EVERY - 1:
                known = np.log(np.maximum(found, np.exp(_NEVER)))
                logs[step // _EVERY, own[:, None], model.classes_] = known
    best = int(np.argmin([out_of_fold_loss(each, y[rows], weight[rows]) for each in logs]))
    model = _boosted(X, y, weight, (best + 1) * _EVERY, seed)
    out_of_fold = np.zeros((len(y), num_classes))
    out_of_fold[rows] = log_softmax(logs[best], axis=1)
    return CrossFittedClasses(ClassTrees.of(model, num_classes), out_of_fold)


def _boosted(X: np.ndarray, y: np.ndarray, weight: np.ndarray, number: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=number,
        learning_rate=_RATE,
        max_leaf_nodes=_LEAVES if len(y) < _MANY_ROWS else 2 * _LEAVES + 1,
        min_samples_leaf=int(np.clip(len(y) // 60, 5, 20)),
        l2_regularization=1.0,
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        random_state=seed,
    ).fit(X, y, sample_weight=weight if np.ptp(weight) > 0 else None)
