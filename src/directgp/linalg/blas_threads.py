"""Limit BLAS to one thread: with XLA's own threads it can be twenty times slower otherwise."""

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  (its BLAS, which JAX calls, must be loaded to be found)
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """Within this context, factorisations use one BLAS thread, besides XLA's own threads."""
    return _controller().limit(limits=1, user_api="blas")
