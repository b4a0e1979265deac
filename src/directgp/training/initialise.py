"""Initial values from the data: inducing inputs, length-scales and noise."""

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from directgp.errors import DirectGPError
from directgp.kernels import Kernel, kernels
from directgp.training.kmeans import kmeans_centres

_ROWS_FOR_CLUSTERING = 60
_ROUNDING, _LEAST_DISTANCE = 1e-12, 1e-3


def default_num_inducing(num_rows: int) -> int:
    """The default number of inducing points for n rows: 3√n between 20 and 500, at most n.

    >>> [default_num_inducing(n) for n in (10, 1_000, 10_000, 1_000_000)]
    [10, 95, 300, 500]
    """
    return min(num_rows, int(np.clip(round(3 * np.sqrt(num_rows)), 20, 500)))


def inducing_inputs(
    X: Float[np.ndarray, "N D"], number: int, seed: int
) -> Float[np.ndarray, "M D"]:
    """k-means centres of (a sample of) the training rows; all distinct rows if they are few.

    Args:
        X: standardised rows.
        number: the maximum number of centres.
        seed: of the sample and of k-means.
    """
    if number < 1:
        raise DirectGPError(f"the number of inducing points must be at least 1, got {number}")
    rng = np.random.default_rng(seed)
    limit = _ROWS_FOR_CLUSTERING * number
    rows = X if len(X) <= limit else X[rng.choice(len(X), limit, replace=False)]
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) <= number:
        return distinct
    # Each distinct row once, with its count, because two equal centres would waste an inducing
    # point. Rows that differ by rounding errors can still give equal centres, hence the last line.
    with threadpool_limits(2):
        weights = counts.astype(np.float64)
        centres = kmeans_centres(distinct, weights, number, int(rng.integers(2**31)))
    return np.unique(centres, axis=0)


def typical_distance(X: Float[np.ndarray, "N D"], seed: int) -> float:
    """Median distance between standardised rows, the initial length-scale.

    It is 1 if all rows are equal up to rounding errors, and at least 0.001: if an outlier makes all
    other rows nearly equal, a shorter length-scale would be of the order of rounding errors.

    Args:
        X: standardised rows.
        seed: of the pairs of rows.
    """
    rng = np.random.default_rng(seed)
    first, second = rng.integers(len(X), size=(2, 2000))
    distances = np.sqrt(np.sum((X[first] - X[second]) ** 2, axis=1))
    distances = distances[distances > _ROUNDING]
    return max(float(np.median(distances)), _LEAST_DISTANCE) if len(distances) else 1.0


def initial_kernel(kernel: str | Kernel, X: Float[np.ndarray, "N D"], seed: int) -> Kernel:
    """The kernel before training.

    Args:
        kernel: a name, for which initial hyperparameters are chosen from X, or a kernel.
        X: standardised rows.
        seed: of `typical_distance`.
    """
    if isinstance(kernel, str):
        return kernels.lookup(kernel).start(X.shape[1], typical_distance(X, seed))
    given: Kernel = kernels.resolve(kernel)
    given.check_columns(X.shape[1])
    return given
