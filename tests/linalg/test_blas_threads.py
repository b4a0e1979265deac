"""BLAS has one thread within the context, and the number it had after it."""

from threadpoolctl import ThreadpoolController, threadpool_limits

from directgp.linalg.blas_threads import one_blas_thread


def blas_threads() -> set[int]:
    found = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in found}


def test_one_thread_within_and_the_former_number_after():
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}
