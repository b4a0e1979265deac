"""LAPACK without Python's lock gives what SciPy gives, to the bit."""

import threading
import time

import numpy as np
import pytest
from scipy.linalg import get_lapack_funcs

from directgp.linalg import lapack
from directgp.linalg.lapack import potrf, potri, potrs

SCIPY = get_lapack_funcs(("potrf", "potri", "potrs"), dtype=np.float64)


def positive(rng, rows):
    root = rng.normal(size=(rows, rows))
    return root @ root.T + rows * np.eye(rows)


@pytest.fixture(params=["without the lock", "SciPy's"])
def way(request, monkeypatch):
    """The same by both ways."""
    if request.param == "SciPy's":
        monkeypatch.setattr(lapack, "_without_lock", lambda name: None)


@pytest.mark.parametrize("name", ["dpotrf", "dpotri", "dpotrs"])
def test_scipy_has_the_pointers_as_they_are_expected(name):
    assert lapack._without_lock(name) is not None


@pytest.mark.parametrize("signature", ["void (char *, npy_int64 *)", "", "void (char *)"])
def test_other_signatures_are_not_called(signature):
    assert lapack._kinds(signature) not in lapack._ARGUMENTS.values()


@pytest.mark.parametrize("rows", [1, 2, 7, 130])
@pytest.mark.parametrize("lower", [0, 1])
def test_numbers_are_those_of_scipy(rows, lower, way, rng):
    K, b = positive(rng, rows), rng.normal(size=rows)
    for clean in (0, 1):
        factor, info = potrf(K, lower=lower, clean=clean)
        known, _ = SCIPY[0](K, lower=lower, clean=clean)
        assert info == 0 and np.array_equal(factor, known)
    inverse, info = potri(factor, lower=lower)
    assert info == 0 and np.array_equal(inverse, SCIPY[1](known, lower=lower)[0])
    found, info = potrs(factor, b, lower=lower)
    assert info == 0 and np.array_equal(found, SCIPY[2](known, b, lower=lower)[0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_arguments_stay_as_they_are_unless_they_may_be_overwritten(order, way, rng):
    K, b = np.array(positive(rng, 9), order=order), rng.normal(size=9)
    before = K.copy(), b.copy()
    factor, _ = potrf(K, lower=1)
    kept = factor.copy()
    potri(factor, lower=1)
    potrs(factor, b, lower=1)
    assert np.array_equal(K, before[0]) and np.array_equal(b, before[1])
    assert np.array_equal(factor, kept)


def test_what_may_be_overwritten_is(way, rng):
    K = np.asfortranarray(positive(rng, 9))
    factor, _ = potrf(K, lower=1, overwrite_a=1)
    assert np.shares_memory(factor, K)
    inverse, _ = potri(factor, lower=1, overwrite_c=1)
    assert np.shares_memory(inverse, K)


def test_a_matrix_without_a_factor_says_which_minor_is_wrong(way):
    K = np.diag([1.0, 2.0, -1.0, 4.0])
    assert potrf(K, lower=1)[1] == 3


def longest_pause(factor):
    """How long another thread stands still at most while an inverse is computed, as a share."""
    over, took = threading.Event(), []

    def work():
        began = time.perf_counter()
        potri(factor, lower=1, overwrite_c=1)
        took.append(time.perf_counter() - began)
        over.set()

    threading.Thread(target=work).start()
    longest, last = 0.0, time.perf_counter()
    while not over.is_set():
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest / took[0]


def test_another_thread_works_meanwhile(rng):
    factor, _ = potrf(positive(rng, 2000), lower=1)
    # A busy machine may let a thread wait, too, but not each time.
    assert min(longest_pause(factor.copy(order="F")) for _ in range(5)) < 0.5
