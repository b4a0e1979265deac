"""`ClassProbabilities`: the predictive distribution of classifiers."""

from typing import Any, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from directgp.errors import DirectGPError
from directgp.predictive.base import Nodes, Predictive, Rows, check_num_samples, check_rows
from directgp.predictive.succession import with_further_row


@final
class ClassProbabilities(Predictive):
    """P(y_n = k) for classes k = 0 … K − 1, stored as logarithms, which are accurate for rare
    classes.

    `mean`, `variance` and `crps` refer to the class number: with two classes `mean` is the
    probability of class 1, and `crps` is the Brier score (with more classes the ranked probability
    score, which is meant for ordered classes).

    >>> p = ClassProbabilities(np.log([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]]))
    >>> p.probabilities[:, 1].round(2).tolist(), p.predicted.tolist()
    ([0.75, 0.5, 0.1], [1, 0, 0])
    """

    log_probabilities: Float[np.ndarray, "N K"]

    def __init__(self, log_probabilities: Any) -> None:
        array = np.array(log_probabilities, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] < 2:
            raise DirectGPError(
                f"log_probabilities must be [N K] with K ≥ 2 classes, got shape {array.shape}; "
                "give both classes of a binary problem"
            )
        total = np.asarray(logsumexp(array, axis=1, keepdims=True))
        if not np.all(np.abs(total) < 1e-4):
            raise DirectGPError(
                "probabilities must sum to 1 at each row, got a row that does not; "
                "subtract logsumexp(log_probabilities, axis=1)"
            )
        self.log_probabilities = array - total
        self.log_probabilities.setflags(write=False)

    @property
    def num_classes(self) -> int:
        """K."""
        return self.log_probabilities.shape[1]

    @property
    def probabilities(self) -> Float[np.ndarray, "N K"]:
        """P(y = k) at each row."""
        return np.exp(self.log_probabilities)

    @property
    def predicted(self) -> Int[np.ndarray, "N"]:
        """The most probable class at each row: the Bayes action when all errors cost the same."""
        return np.argmax(self.log_probabilities, axis=1)

    @property
    def mean(self) -> Float[np.ndarray, "N"]:
        """E[y] = Σ_k k P(y = k); with two classes P(y = 1)."""
        return self.probabilities @ np.arange(self.num_classes, dtype=np.float64)

    @property
    def variance(self) -> Float[np.ndarray, "N"]:
        """Var[y] of the number of the class; with two classes p(1 − p)."""
        deviations = np.arange(self.num_classes) - self.mean[:, None]
        return np.sum(self.probabilities * deviations**2, axis=1)

    def log_prob(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log P(Y = y); −∞ for a y that is no class.

        >>> p = ClassProbabilities(np.log([[0.25, 0.75]]))
        >>> p.log_prob(1).round(4).tolist(), p.log_prob(2).tolist()
        ([-0.2877], [-inf])
        """
        y = check_rows(y, len(self))
        known = np.isin(y, np.arange(self.num_classes))
        index = np.where(known, y, 0.0).astype(np.intp)
        return np.where(known, self.log_probabilities[np.arange(len(self)), index], -np.inf)

    def cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y ≤ y), for classes in an order."""
        y = check_rows(y, len(self))
        included = np.arange(self.num_classes) <= y[:, None]
        return np.minimum(np.sum(self.probabilities * included, axis=1), 1.0)

    def survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y > y), for classes in an order."""
        y = check_rows(y, len(self))
        included = np.arange(self.num_classes) > y[:, None]
        return np.minimum(np.sum(self.probabilities * included, axis=1), 1.0)

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Σ_k (P(Y ≤ k) − 1[y ≤ k])²: the Brier score of two classes, (p − y)²."""
        y = check_rows(y, len(self))
        below = np.cumsum(self.probabilities, axis=1)[:, :-1]
        inside = np.clip(y, 0, self.num_classes - 1)
        terms = (below - (inside[:, None] <= np.arange(self.num_classes - 1))) ** 2
        return np.sum(terms, axis=1) + np.abs(y - inside)

    def _find_nodes(self) -> Nodes:
        """The classes and their probabilities."""
        classes = np.arange(self.num_classes, dtype=np.float64)
        return np.broadcast_to(classes, self.log_probabilities.shape), self.probabilities

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Draws of the class number; see `Predictive.sample`.

        >>> ClassProbabilities(np.log([[0.5, 0.5]])).sample(4, seed=1).shape
        (4, 1)
        """
        check_num_samples(num_samples)
        uniform = np.random.default_rng(seed).random((num_samples, len(self)))
        cumulative = np.cumsum(self.probabilities, axis=1)
        cumulative = cumulative / cumulative[:, -1:]
        drawn = np.zeros(uniform.shape)
        for threshold in cumulative.T[:-1]:
            drawn += threshold <= uniform
        return drawn

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        classes = np.arange(self.num_classes)
        if level <= 0.5:
            reached = np.cumsum(self.probabilities, axis=1) >= level
        else:
            above = np.cumsum(self.probabilities[:, ::-1], axis=1)[:, ::-1]
            reached = np.column_stack([above[:, 1:], np.zeros(len(self))]) <= 1.0 - level
        reached[:, -1] = True
        return classes[np.argmax(reached, axis=1)].astype(np.float64)

    def __len__(self) -> int:
        return self.log_probabilities.shape[0]

    def with_further_row(self, num_rows: float | int) -> "ClassProbabilities":
        """(n p + 1/K)/(n + 1) for n = `num_rows`, which bounds the confidence; see `succession`.

        >>> sure = ClassProbabilities(np.log([[1e-9, 1 - 1e-9]]))
        >>> sure.with_further_row(99).probabilities.round(4).tolist()
        [[0.005, 0.995]]
        """
        return ClassProbabilities(
            with_further_row(self.log_probabilities, num_rows, self.num_classes)
        )

    def _take(self, rows: Int[np.ndarray, "K"]) -> "ClassProbabilities":
        return ClassProbabilities(self.log_probabilities[rows])
