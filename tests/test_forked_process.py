"""A child that is forked after JAX was used is told so, instead of waiting for ever."""

import os
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.errors import DirectGPError, ForkedProcess
from directgp.fitting.stacking import fit_class_stack, fit_count_stack, fit_stack
from directgp.parameters import check_process, positive

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def said_by_child(work) -> str:
    """The text of the error of `work` in a forked child."""
    here, there = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX and Python warn of forks
        child = os.fork()
    if child == 0:
        try:
            work()
        except ForkedProcess as error:
            os.write(there, str(error).encode())
        finally:
            os._exit(0)
    os.close(there)
    os.waitpid(child, 0)
    with os.fdopen(here, "rb") as answer:
        return answer.read().decode()


X = np.arange(6.0)[:, None]


@pytest.mark.parametrize(
    "work",
    [
        lambda: positive(1.0),
        lambda: fit_stack(X, X[:, 0]),
        lambda: fit_class_stack(X, X[:, 0] % 2, 2),
        lambda: fit_count_stack(X, X[:, 0]),
    ],
    ids=["a parameter", "a stack", "a stack of classes", "a stack of counts"],
)
def test_a_forked_child_is_told(work):
    jnp.zeros(1).block_until_ready()
    said = said_by_child(work)
    assert "was forked from one that had used JAX" in said and "\n" not in said
    assert "spawn" in said and str(os.getpid()) not in said.split()[1]


def test_the_parent_goes_on():
    assert said_by_child(check_process)
    check_process()
    assert issubclass(ForkedProcess, DirectGPError) and issubclass(ForkedProcess, RuntimeError)
