"""SciPy's minimisers, imported when they are first called.

`scipy.optimize` takes a tenth of a second to import, for which a model that is trained by gradient
steps need not wait.
"""

from typing import Any


def minimize(objective: Any, start: Any, **options: Any) -> Any:
    """`scipy.optimize.minimize`.

    >>> bool(abs(minimize(lambda x: (x[0] - 3.0) ** 2, [0.0]).x[0] - 3.0) < 1e-4)
    True
    """
    import scipy.optimize

    return scipy.optimize.minimize(objective, start, **options)


def minimize_scalar(objective: Any, **options: Any) -> Any:
    """`scipy.optimize.minimize_scalar`."""
    import scipy.optimize

    return scipy.optimize.minimize_scalar(objective, **options)
