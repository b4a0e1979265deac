"""The computation that machine code must get right before it is used."""

import jax
import pytest

from directgp.linalg.native import self_test

pytestmark = pytest.mark.machine_code


def test_nothing_is_wrong_here():
    assert self_test.failure() == ""


@pytest.mark.float32_default
def test_nothing_is_wrong_whatever_the_caller_has_set():
    with jax.transfer_guard("disallow"), jax.disable_jit(), jax.debug_nans(True):
        assert self_test.failure() == ""


def test_a_wrong_offset_of_a_size_is_noticed(monkeypatch):
    """N is read where D is."""
    from directgp.linalg.native import library
    from directgp.linalg.native.passes import Pass

    def swapped(self, axis):
        return honest(self, "D" if axis == "N" else axis)

    honest = Pass.place_of
    monkeypatch.setattr(Pass, "place_of", swapped)
    wrong = library.Processor().register("kernel_matern52", "float64", prefix="test_wrong_offset")
    monkeypatch.setattr(library, "target", lambda *_: wrong)
    assert self_test.failure() == "its numbers differ from NumPy's"
