"""No warnings of scikit-learn about what a user of a stack can do nothing about."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_lock = threading.Lock()
_inside = 0
_kept = ExitStack()


@contextmanager
def hushed() -> Iterator[None]:
    """Hide such warnings in the block, in all threads that work for it.

    Python keeps one list of filters for all threads. Fits that overlap therefore share one change
    of it, which the last of them takes back.

    >>> with hushed():
    ...     warnings.warn("The number of unique classes is greater than 50% of …", stacklevel=1)
    """
    from sklearn.exceptions import ConvergenceWarning

    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _kept.enter_context(warnings.catch_warnings())
            # A slope that still moves a little is judged by rows that it has not seen.
            warnings.filterwarnings("ignore", category=ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _kept.close()
