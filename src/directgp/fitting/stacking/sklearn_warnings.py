"""Suppresses warnings of scikit-learn that the user of a stack cannot act on."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_lock = threading.Lock()
_inside = 0
_kept = ExitStack()


@contextmanager
def without_sklearn_warnings() -> Iterator[None]:
    """Context without these warnings, in all threads.

    Warning filters are global, not per thread, so concurrent fits share one change of the filters,
    which the last of them reverts.

    >>> with without_sklearn_warnings():
    ...     warnings.warn("The number of unique classes is greater than 50% of …", stacklevel=1)
    """
    from sklearn.exceptions import ConvergenceWarning

    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _kept.enter_context(warnings.catch_warnings())
            # Coefficients that have not fully converged are evaluated out of fold like all others.
            warnings.filterwarnings("ignore", category=ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _kept.close()
