"""A second thread that fits boosted trees while the first one fits an exact GP.

Factorisations then use one BLAS thread and trees one OpenMP thread. Waiting threads would spin,
which on a busy machine takes ten times as long as the computation, and trees of 8,000 rows are
fitted faster by one thread than by two.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from directgp.fitting.stacking.sklearn_warnings import without_sklearn_warnings
from directgp.linalg.blas_threads import one_blas_thread


@contextmanager
def second_thread() -> Iterator[Callable[..., "Future[Any]"]]:
    """Context with a function that submits work to a second thread; each thread uses one core.

    Results do not depend on the scheduling. Some warnings of scikit-learn are suppressed in both.

    >>> with second_thread() as start:
    ...     later = start(sum, [1, 2])
    ...     later.result()
    3
    """

    def limited(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        # The number of OpenMP threads is set per calling thread.
        with threadpool_limits(1, user_api="openmp"):
            return function(*given, **named)

    with without_sklearn_warnings(), one_blas_thread(), ThreadPoolExecutor(1) as pool:
        yield lambda function, *given, **named: pool.submit(limited, function, *given, **named)
