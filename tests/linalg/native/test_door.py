"""When machine code is used, the switch that turns it off, and what happens without it."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.linalg import native
from directgp.linalg.native import door, self_test
from directgp.linalg.triangular import lower_times


@pytest.fixture
def untried():
    """A process that has not used machine code yet, and forgets afterwards how that went."""
    door._works.cache_clear()
    yield
    door._works.cache_clear()
    door._failed.clear()


def uses_machine_code(function, *arguments):
    """Whether a program calls a pass."""
    return "directgp_" in str(jax.make_jaxpr(function)(*arguments))


@pytest.mark.machine_code
def test_it_is_used_where_it_is_supported():
    assert native.in_use()


@pytest.mark.machine_code
def test_other_arrays_are_left_to_jax():
    some, single = jnp.ones((2, 2)), jnp.ones((2, 2), jnp.float32)
    assert uses_machine_code(lower_times, some, some) and uses_machine_code(
        lower_times, single, single
    )
    assert not uses_machine_code(lower_times, some, single)
    assert not uses_machine_code(lower_times, some, jnp.ones((2, 0)))
    for other in (int, complex, jnp.float16):

        def square(A):
            return native.run("lower_times", lambda left, right: [left @ right], A, A)

        assert not uses_machine_code(square, some.astype(other))
    np.testing.assert_array_equal(lower_times(some, single), lower_times(some, some))


@pytest.mark.machine_code
@pytest.mark.float32_default
def test_double_numbers_in_a_program_of_single_ones_are_left_to_jax():
    with jax.enable_x64(True):
        square = jnp.tril(jnp.ones((2, 2)))
    assert square.dtype == jnp.float64
    in_jax = jnp.zeros(())
    (answer,) = native.run("lower_times", lambda *_: [in_jax], square, square)
    assert answer is in_jax


# ---------------------------------------------------------------- the switch


def test_the_context_turns_it_off_and_on_for_programs_compiled_before():
    program = jax.jit(lambda L, A: lower_times(L, A))
    L, A = jnp.tril(jnp.ones((3, 3))), jnp.ones((3, 2))
    found = program(L, A)
    with native.machine_code(False):
        assert not native.in_use() and not uses_machine_code(lower_times, L, A)
        assert "directgp_" not in program.lower(L, A).as_text()
        np.testing.assert_array_equal(program(L, A), found)
        with native.machine_code(True):
            assert native.in_use() == (self_test.is_supported() and self_test.has_llvmlite())
    assert ("directgp_" in program.lower(L, A).as_text()) == native.in_use()


PROGRAM = """
import sys, warnings
warnings.simplefilter("error")
{before}
import numpy as np
import jax
jax.config.update("jax_enable_x64", True)
import directgp.linalg.native as native
from directgp.kernels import Matern52
X = np.linspace(0.0, 1.0, 12).reshape(6, 2)
found = Matern52(1.0, [0.5, 0.7]).matrix(jax.numpy.asarray(X), jax.numpy.asarray(X))
print(native.in_use(), "llvmlite.ir" in sys.modules, float(found.sum()))
"""


def in_a_process(before="", **environment):
    """What a new process prints: in use, llvmlite loaded, a sum of kernel values."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout.split(), done.stderr


@pytest.fixture(scope="module")
def known_sum():
    X = np.linspace(0.0, 1.0, 12).reshape(6, 2) / [0.5, 0.7]
    root = np.sqrt(5.0 * np.sum((X[:, None] - X) ** 2, axis=-1))
    return np.sum((1.0 + root + root**2 / 3.0) * np.exp(-root))


def test_the_environment_variable_turns_it_off(known_sum):
    (used, loaded, total), _ = in_a_process(DIRECTGP_NATIVE="off")
    assert (used, loaded) == ("False", "False")
    assert float(total) == pytest.approx(known_sum, rel=1e-12)


def test_a_wrong_value_of_the_environment_variable_is_refused(monkeypatch):
    monkeypatch.setenv("DIRECTGP_NATIVE", "no")
    with pytest.raises(ValueError, match="DIRECTGP_NATIVE must be 'on' or 'off', got 'no'"):
        door._from_environment.__wrapped__()


def test_without_llvmlite_jax_does_the_work_in_silence(known_sum):
    (used, loaded, total), errors = in_a_process("sys.modules['llvmlite'] = None")
    assert (used, loaded) == ("False", "False") and not errors
    assert float(total) == pytest.approx(known_sum, rel=1e-12)


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "aarch64")])
def test_on_other_platforms_it_is_not_tried(system, machine, monkeypatch, untried):
    monkeypatch.setattr(self_test.sys, "platform", system)
    monkeypatch.setattr(self_test.platform, "machine", lambda: machine)
    monkeypatch.setattr(self_test, "failure", lambda: pytest.fail("it was tried"))
    assert not native.in_use()


@pytest.mark.machine_code
def test_with_another_llvmlite_there_is_one_warning_and_jax_does_the_work(known_sum):
    (used, _, total), errors = in_a_process(
        "warnings.simplefilter('always')\n"
        "import llvmlite.ir; llvmlite.ir.PointerType = lambda pointee: pointee"
    )
    assert used == "False"
    assert errors.count("RuntimeWarning: machine code does not work here (TypeError") == 1
    assert float(total) == pytest.approx(known_sum, rel=1e-12)


@pytest.mark.machine_code
def test_with_another_jaxlib_it_is_not_used(monkeypatch, untried, tmp_path):
    from directgp.linalg.native import library, xla_interface

    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    for known in (xla_interface.interface, library._target):
        known.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="jaxlib's header cannot be read"):
            assert not native.in_use()
    finally:
        xla_interface.interface.cache_clear()


@pytest.mark.machine_code
def test_machine_code_that_computes_something_else_is_not_used(monkeypatch, untried):
    monkeypatch.setattr(
        jax.ffi, "ffi_call", lambda name, results: lambda *_: [jnp.zeros(r.shape) for r in results]
    )
    with pytest.warns(RuntimeWarning, match="its numbers differ from NumPy's"):
        assert not native.in_use()


@pytest.mark.machine_code
def test_a_pass_that_cannot_be_compiled_later_ends_its_use(monkeypatch, untried):
    from directgp.linalg.native import library

    assert native.in_use()
    monkeypatch.setattr(library, "target", lambda *_: 1 / 0)
    L = jnp.tril(jnp.ones((3, 3)))
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError.*computed in JAX instead"):
        np.testing.assert_array_equal(lower_times(L, jnp.eye(3)), L)
    assert not native.in_use()
    np.testing.assert_array_equal(lower_times(L, jnp.eye(3)), L)  # and no second warning


@pytest.mark.machine_code
def test_it_may_be_tried_first_inside_a_compiled_function(untried):
    found = jax.jit(jax.grad(lambda A: jnp.sum(lower_times(jnp.eye(3), A))))(jnp.ones((3, 4)))
    np.testing.assert_array_equal(found, np.ones((3, 4)))
    assert native.in_use()


def test_there_is_one_door():
    """What the rest of the library knows of machine code is `in_use`, `machine_code` and `run`."""
    package = Path(native.__file__).parent
    for path in package.parents[1].rglob("*.py"):
        if package in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
                names = [module, *(alias.name for alias in node.names)]
                assert not any("linalg.native" in n or "llvmlite" in n for n in names), path
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "native":
                assert node.attr in native.__all__, path
