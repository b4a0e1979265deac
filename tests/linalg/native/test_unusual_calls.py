"""Maps, flags of JAX, sizes of one, numbers that are none, arrays of any layout in memory.

The numbers are right, by machine code or by JAX's own way, whichever the door chooses.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.kernels import RBF, Matern12, Matern32, Matern52
from directgp.linalg import native
from directgp.linalg.moments import MOMENTS
from directgp.linalg.native import door
from directgp.linalg.triangular import lower_times

KERNELS = {"rbf": RBF, "matern12": Matern12, "matern32": Matern32, "matern52": Matern52}


def moments(form, K, m, S, cross):
    factor, moments_of = MOMENTS[form]
    return moments_of(factor(K, m, S), cross)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    K, m, S = (
        root @ root.T + np.eye(6),
        rng.normal(size=(1, 6)),
        np.tril(rng.normal(size=(1, 6, 6))),
    )
    with jax.enable_x64(True):
        return tuple(map(jnp.asarray, (K, m, S, rng.normal(size=(4, 6, 11)))))


@pytest.mark.parametrize("form", ["projected", "whitened", "lifted"])
def test_under_vmap_it_is_the_same_function(form, problem):
    *parts, crosses = problem

    def value(cross):
        return sum(jnp.sum(jnp.sin(part)) for part in moments(form, *parts, cross))

    mapped = jax.jit(jax.vmap(jax.value_and_grad(value)))(crosses)
    alone = jax.jit(jax.value_and_grad(value))
    one_by_one = [alone(cross) for cross in crosses]
    for found, known in zip(mapped, zip(*one_by_one, strict=True), strict=True):
        np.testing.assert_allclose(found, jnp.stack(known), rtol=1e-11)
    outside = jax.jit(jax.grad(lambda crosses: jnp.sum(jax.vmap(value)(crosses))))(crosses)
    np.testing.assert_allclose(outside, mapped[1], rtol=1e-11)


def test_vmap_maps_the_formula_in_jax_and_any_argument():
    L, A = jnp.tril(jnp.arange(1.0, 19.0).reshape(2, 3, 3)), jnp.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(jax.vmap(lower_times)(L, A), L @ A)
    np.testing.assert_array_equal(jax.vmap(lower_times, (0, None))(L, A[0]), L @ A[0])
    np.testing.assert_array_equal(
        jax.vmap(lower_times, (None, 2))(L[0], jnp.moveaxis(A, 0, 2)), L[0] @ A
    )
    nested = jax.vmap(jax.vmap(lower_times, (None, 0)), (0, None))(L, A)
    np.testing.assert_array_equal(nested, L[:, None] @ A)
    assert "directgp_" not in jax.jit(jax.vmap(lower_times)).lower(L, A).as_text()


FLAGS = {
    "disable_jit": lambda: jax.disable_jit(),
    "debug_nans": lambda: jax.debug_nans(True),
    "debug_infs": lambda: jax.debug_infs(True),
    "checking_leaks": lambda: jax.checking_leaks(),
    "enable_checks": lambda: jax.enable_checks(True),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_under_flags_of_jax_the_numbers_are_the_same(flag, problem):
    *parts, crosses = problem
    X, Z = crosses[0].T, crosses[1].T

    def value(Z):
        cross = Matern52(1.2, np.full(6, 2.0)).matrix(Z, X)
        return sum(jnp.sum(jnp.sin(p)) for p in moments("whitened", *parts, cross[:6]))

    with native.machine_code(False):
        known = jax.jit(jax.grad(lambda Z: value(Z)))(Z)  # another function: traced again below
    door._works.cache_clear()  # so that the self-test runs under the flag, where it runs
    with FLAGS[flag]():
        np.testing.assert_allclose(jax.jit(jax.grad(value))(Z), known, rtol=1e-9, atol=1e-12)


def test_what_is_no_number_is_found_by_jax_debug_nans():
    L, A = jnp.eye(3), jnp.ones((3, 4)).at[1, 2].set(jnp.nan)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="in dot_general"):
        lower_times(L, A)


@pytest.mark.parametrize("form", ["projected", "whitened", "lifted"])
@pytest.mark.parametrize(("M", "N"), [(1, 1), (1, 5), (5, 1)])
def test_one_of_everything(form, M, N, rng):
    root = rng.normal(size=(M, M))
    K, S = jnp.asarray(root @ root.T + np.eye(M)), jnp.tril(rng.normal(size=(1, M, M)))
    m, cross = jnp.asarray(rng.normal(size=(1, M))), jnp.asarray(rng.normal(size=(M, N)))

    def value(*arguments):
        return sum(jnp.sum(jnp.sin(part)) for part in moments(form, *arguments))

    found = jax.jit(jax.value_and_grad(value, (0, 1, 2, 3)))(K, m, S, cross)
    with native.machine_code(False):
        known = jax.jit(jax.value_and_grad(value, (0, 1, 2, 3)))(K, m, S, cross)
    for mine, other in zip(*map(jax.tree.leaves, (found, known)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize(("N", "M", "D"), [(1, 1, 1), (1, 9, 1), (9, 1, 3)])
def test_kernels_of_one_row_or_one_column(kernel, N, M, D, rng):
    X, Z = jnp.asarray(rng.normal(size=(N, D))), jnp.asarray(rng.normal(size=(M, D)))

    def value(X, Z):
        return jnp.sum(jnp.sin(kernel(1.3, np.full(D, 0.8)).matrix(X, Z)))

    found = jax.jit(jax.value_and_grad(value, (0, 1)))(X, Z)
    with native.machine_code(False):
        known = jax.jit(jax.value_and_grad(value, (0, 1)))(X, Z)
    for mine, other in zip(*map(jax.tree.leaves, (found, known)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def unaligned(values, offset):
    """The same numbers at an address that is `offset` bytes beyond an aligned one."""
    room = np.zeros(values.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    copy = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


LAYOUTS = {
    "unaligned by 1": lambda A: unaligned(A, 1),
    "unaligned by 8": lambda A: unaligned(A, 8),
    "columns first": np.asfortranarray,
    "every other": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "backwards": lambda A: A[::-1, ::-1].copy()[::-1, ::-1],
    "other byte order": lambda A: A.astype(">f8").astype("f8"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_layout(layout, rng):
    L, A = np.tril(rng.normal(size=(7, 7))), rng.normal(size=(7, 53))
    given = LAYOUTS[layout](A)
    np.testing.assert_allclose(lower_times(jnp.asarray(L), jnp.asarray(given)), L @ A, rtol=1e-12)
    through_dlpack = jax.dlpack.from_dlpack(given) if given.flags.c_contiguous else given
    if layout != "unaligned by 1":
        found = lower_times(jnp.asarray(L), jnp.asarray(through_dlpack))
        np.testing.assert_allclose(found, L @ A, rtol=1e-12)


def test_transposed_and_sliced_inside_a_program(rng):
    L, A = np.tril(rng.normal(size=(7, 7))), rng.normal(size=(53, 21))
    program = jax.jit(lambda L, A: lower_times(L.T, A.T[::3][:, ::2]))
    np.testing.assert_allclose(program(L.T, A), L @ A.T[::3][:, ::2], rtol=1e-12, atol=1e-13)
