"""The rule of succession, which bounds class probabilities learned from n rows."""

import numpy as np
from jaxtyping import Float


def with_further_row(
    log_probability: Float[np.ndarray, "*B"], num_rows: float | int, num_classes: int
) -> Float[np.ndarray, "*B"]:
    """Log of (n p + 1/K)/(n + 1): class probabilities with one further row of unknown class.

    The further row has each of the K classes with equal probability (Perks' prior; for K = 2 that
    of Jeffreys, half a row of each class). So every class has probability at least 1/(K(n + 1)),
    the log loss of a row is at most log K(n + 1), and the bound increases it by at most log(1 +
    1/n).

    Args:
        log_probability: log p of one class or of all of them.
        num_rows: n, the number of rows that the probabilities were learned from.
        num_classes: K.

    Returns:
        The logarithm of the bounded probabilities, which sum to 1 if those given do.

    >>> np.exp(with_further_row(np.array([-np.inf, 0.0]), 4, 2)).round(3).tolist()
    [0.1, 0.9]
    """
    kept = np.log(num_rows) - np.log1p(num_rows)
    return np.logaddexp(kept + log_probability, -np.log(num_classes) - np.log1p(num_rows))
