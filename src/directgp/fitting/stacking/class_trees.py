"""Gradient-boosted trees of classes (scikit-learn's), cross-fitted, and kept as plain arrays."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax

from directgp.fitting.stacking.logistic import CrossFittedClasses, out_of_fold_loss
from directgp.fitting.stacking.trees import TreeEnsemble, boost_in_folds, with_few_values
from directgp.linalg.lean_imports import lean_imports

_RATE, _LEAVES, _FEWEST, _MOST_TREES, _TREES_OF_MANY = 0.1, 15, 30, 150, 300
_MANY_ROWS = 5000
_MOST_OF_ALL = 600
"""Maximum number of trees of all classes; each step of boosting adds one tree per class."""
_NEVER = -30.0
"""The log odds of a class without rows."""


class ClassTrees(NamedTuple):
    """Log odds of the classes up to a constant: a sum of trees for each, softmax of all."""

    ensembles: tuple[TreeEnsemble, ...]

    def log_probabilities(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Of every class at standardised rows."""
        return log_softmax(np.column_stack([own.predict(X) for own in self.ensembles]), axis=1)

    @classmethod
    def of(cls, model: Any, num_classes: int) -> "ClassTrees":
        """Convert a fitted HistGradientBoostingClassifier of class numbers below K.

        Args:
            model: of scikit-learn.
            num_classes: K; some classes may be unknown to the model.
        """
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
    deadline: float = np.inf,
) -> CrossFittedClasses:
    """Boost trees in every fold; the number of trees minimises the out-of-fold loss.

    Args:
        X: inputs.
        y: the numbers of the classes: two or more in every set of all folds but one.
        num_classes: K.
        weight: of the rows.
        part: the fold of every row; −1 for rows that are never left out.
        seed: of the trees.
        deadline: of `time.monotonic()`; no more trees are grown after it.
    """
    if np.ptp(weight) > 0:
        X = with_few_values(X)
    columns = 1 if num_classes == 2 else num_classes
    most = _MOST_TREES if len(y) < _MANY_ROWS else _TREES_OF_MANY
    most = max(_FEWEST, min(most, _MOST_OF_ALL // columns))
    rows = np.flatnonzero(part >= 0)

    def stages(model: Any, own: np.ndarray) -> Iterable[np.ndarray]:
        for found in model.staged_predict_proba(own):
            logs = np.full((len(own), num_classes), _NEVER)
            logs[:, model.classes_] = np.log(np.maximum(found, np.exp(_NEVER)))
            yield log_softmax(logs, axis=1)

    found = boost_in_folds(
        _boosted(len(y), seed),
        (X, y, weight),
        part,
        most=most,
        stages=stages,
        score=lambda logs: np.array(
            [out_of_fold_loss(each[rows], y[rows], weight[rows]) for each in logs]
        ),
        deadline=deadline,
    )
    return CrossFittedClasses(ClassTrees.of(found.model, num_classes), found.out_of_fold)


def _boosted(rows: int, seed: int) -> Any:
    """An unfitted boosting model for a table of this size."""
    with lean_imports():
        from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=_RATE,
        max_leaf_nodes=_LEAVES if rows < _MANY_ROWS else 2 * _LEAVES + 1,
        min_samples_leaf=int(np.clip(rows // 60, 5, 20)),
        l2_regularization=1.0,
        early_stopping=False,  # pyright: ignore[reportArgumentType]
        warm_start=True,
        random_state=seed,
    )
