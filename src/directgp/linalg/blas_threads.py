"""Limit BLAS to one thread: several compete with XLA's threads and can be 20 times slower."""

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  (its BLAS, which JAX calls, must be loaded to be found)
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """Context in which factorisations use one BLAS thread; XLA's threads are not affected."""
    return _controller().limit(limits=1, user_api="blas")
