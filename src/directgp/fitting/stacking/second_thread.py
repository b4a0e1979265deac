"""A second thread, in which boosted trees grow while an exact GP is fitted.

Factorisations use one BLAS thread meanwhile, and trees one thread of OpenMP: threads that wait for
a core spin, which on a busy machine takes ten times as long as the work itself, and trees of 8,000
rows grow faster in one thread than in two.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from directgp.fitting.stacking.hushed import hushed
from directgp.linalg.blas_threads import one_blas_thread


@contextmanager
def second_thread() -> Iterator[Callable[..., "Future[Any]"]]:
    """Give a function that starts work in a second thread; each of the two uses one core.

    Results do not depend on which thread is first. Scikit-learn's warnings are hidden in both.

    >>> with second_thread() as start:
    ...     later = start(sum, [1, 2])
    ...     later.result()
    3
    """

    def limited(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        # The number of OpenMP's threads is set for the thread that asks.
        with threadpool_limits(1, user_api="openmp"):
            return function(*given, **named)

    with hushed(), one_blas_thread(), ThreadPoolExecutor(1) as pool:
        yield lambda function, *given, **named: pool.submit(limited, function, *given, **named)
