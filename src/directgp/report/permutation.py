"""Permutation importance of columns: the increase of the NLL when a column is shuffled."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from directgp.metrics import standard_error
from directgp.predictive import Predictive

PERMUTED = (
    "Permutation importance: the increase of the NLL of these rows when the values of a column "
    "are shuffled among them, as a share of the total. An increase within two standard errors "
    "counts as none: these rows cannot show that the column helps."
)
_MOST_ROWS = 300
_MOST_COLUMNS = 60


def permutation_importance(
    predict: Callable[[Float[np.ndarray, "N D"]], Predictive],
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    sources: Sequence[str],
    seed: int = 0,
    advance: Callable[[], object] | None = None,
) -> dict[str, float]:
    """Permutation importance of each column as a share of the total, largest first.

    Args:
        predict: returns the predictive distribution of rows of inputs.
        X: held-out rows if there are any.
        y: their targets.
        sources: the user's column that each input is encoded from; inputs of one column are
            shuffled together.
        seed: seed of the shuffles and of the sample of 300 rows from larger tables.
        advance: called after every column, to show progress.

    Returns:
        Share by column, 0 where the loss may be chance; empty if that is so for all, or for more
        than 60 columns.

    >>> from directgp.predictive import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> def predict(X):
    ...     return GaussianMixture(X[:, :1].T, np.ones((1, len(X))), np.zeros(1))
    >>> permutation_importance(predict, X, X[:, 0], ["age", "noise"])
    {'age': 1.0, 'noise': 0.0}
    """
    columns = list(dict.fromkeys(sources))
    if len(columns) > _MOST_COLUMNS or len(y) < 2:
        return {}
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(y))[:_MOST_ROWS]
    X, y = X[some], y[some]
    usual = predict(X).log_prob(y)
    losses = {}
    for name in columns:
        shuffled, own = X.copy(), [k for k, source in enumerate(sources) if source == name]
        shuffled[:, own] = X[rng.permutation(len(X))][:, own]
        lost, error = standard_error(usual - predict(shuffled).log_prob(y))
        losses[name] = lost if lost > 2 * error else 0.0
        if advance is not None:
            advance()
    total = sum(losses.values())
    if not total > 0:
        return {}
    ordered = sorted(losses, key=lambda name: -losses[name])
    return {name: losses[name] / total for name in ordered}
