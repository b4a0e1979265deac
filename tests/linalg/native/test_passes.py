"""Every pass against NumPy: all shapes, both kinds of numbers, several kinds of processors."""

import re
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.linalg import native
from directgp.linalg.native import self_test

if not self_test.is_supported():
    pytest.skip("machine code is made on Linux x86-64 only", allow_module_level=True)

from directgp.linalg.native import library

pytestmark = pytest.mark.machine_code

# One of everything, less than a vector, beyond a panel, beyond a chunk, rows left over in a tile.
SHAPES = [(1, 1), (2, 17), (3, 48), (7, 53), (33, 1000), (100, 1100), (13, 2049)]
WITH_LATENTS = [(*shape, 1) for shape in SHAPES] + [(7, 53, 3), (33, 1000, 2)]
TOLERANCE = {"float32": 3e-6, "float64": 1e-14}
PROCESSORS = {
    "this one": None,
    "avx2": ("x86-64-v3", "+avx,+avx2,+fma,+sse2"),
    "sse2": ("x86-64", "+sse2"),
}


@pytest.fixture(scope="module", params=PROCESSORS)
def call(request):
    """Passes for a kind of processor, which are registered once under a name of their own."""
    described = PROCESSORS[request.param]
    if described is None:
        return here
    processor, known = library.Processor(*described), {}

    def call(name, *arguments):
        key = name, str(arguments[0].dtype)
        if key not in known:
            known[key] = processor.register(*key, prefix=f"test_{request.param}")
        shapes = library.PASSES[name].result_shapes(*(array.shape for array in arguments))
        assert shapes is not None
        results = [jax.ShapeDtypeStruct(shape, arguments[0].dtype) for shape in shapes]
        return jax.ffi.ffi_call(known[key], results)(*arguments)

    return call


def together(calls, *arguments):
    """What several passes return, by one program: to compile one takes longer than to run all.

    Args:
        calls: a function of the arguments that calls the passes.
        arguments: of NumPy.
    """
    return jax.tree.map(np.asarray, jax.jit(calls)(*arguments))


def here(name, *arguments):
    """A pass on this processor, of which no derivative is asked for."""
    return native.run(name, lambda *_: pytest.fail("this is not machine code"), *arguments)


def assert_close(found, known, dtype):
    """Within rounding of the largest number."""
    known = np.asarray(known, np.float64)
    error = np.max(np.abs(np.asarray(found, np.float64) - known))
    assert error <= TOLERANCE[dtype] * max(np.max(np.abs(known)), 1e-30), error


def numbers(dtype, *shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def exactly(*arrays):
    return [np.asarray(array, np.float64) for array in arrays]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("M", "N"), SHAPES)
def test_products_of_which_half_is_known(call, dtype, M, N):
    square, right = numbers(dtype, (M, M), (M, N))
    lower, scaled = np.tril(square), right * np.arange(N, dtype=dtype)
    L, A = exactly(lower, right)

    def calls(lower, right, scaled):
        products = [call(f"{side}_times", lower, right)[0] for side in ("lower", "upper")]
        return *products, call("symmetric_product", scaled, right)[0]

    by_lower, by_upper, gram = together(calls, lower, right, scaled)
    assert_close(by_lower, L @ A, dtype)
    assert_close(by_upper, L.T @ A, dtype)
    assert_close(gram, (A * np.arange(N)) @ A.T, dtype)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("M", [1, 2, 7, 33, 100])
def test_products_of_triangles(call, dtype, M):
    """What is known to be zero is not read, and what is not wanted is zero or a copy."""
    one, other, dense = numbers(dtype, (M, M), (M, M), (M, M))
    one, other, dense = np.tril(one), np.tril(other), dense + dense.T
    L, T, A = exactly(one, other, dense)
    rights = [right.astype(dtype) for right in (A @ L, (L @ A).T)]

    def calls(one, other, dense, rights):
        products = (
            call("full_times_lower", dense, one)[0],
            call("lower_times_lower", one, other)[0],
            call("upper_times_lower", one, other)[0],
            call("lower_times_upper", one, one.T)[0],
        )
        half = call("lower_of_lower_times", one, dense)[0]
        sides = zip(("upper", "lower"), rights, strict=True)
        return products, half, [call(f"symmetric_{s}_times", one, r)[0] for s, r in sides]

    products, half, symmetric = together(calls, one, other, dense, rights)
    for mine, known in zip(products, (A @ L, L @ T, L.T @ T, L @ L.T), strict=True):
        assert_close(mine, known, dtype)
    assert_close(half, np.tril(L @ A), dtype)
    np.testing.assert_array_equal(np.triu(half, 1), 0.0)
    for mine, known in zip(symmetric, (L.T @ A @ L, L @ A @ L.T), strict=True):
        assert_close(mine, known, dtype)
        np.testing.assert_array_equal(mine, mine.T)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("M", [1, 2, 4, 7, 16, 33, 100, 129])
def test_inverse_of_a_cholesky_factor(call, dtype, M):
    """As exact as LAPACK: L⁻¹ K L⁻ᵀ is the unit matrix, and nothing is above the diagonal."""
    (root,) = numbers(dtype, (M, M))
    K = jnp.asarray(root @ root.T / M + 0.1 * np.eye(M, dtype=dtype))
    found = np.asarray(call("inverse_cholesky", K)[0], np.float64)
    np.testing.assert_array_equal(np.triu(found, 1), 0.0)
    unit = found @ np.asarray(K, np.float64) @ found.T
    assert np.max(np.abs(unit - np.eye(M))) < 10 * TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("M", "N"), SHAPES)
def test_factors_and_substitution(call, dtype, M, N):
    root, right = numbers(dtype, (M, M), (M, N))
    K = root @ root.T / M + 0.5 * np.eye(M, dtype=dtype)
    known = np.linalg.cholesky(np.asarray(K, np.float64))

    def calls(K, right):
        factor = call("cholesky", K)[0]
        return factor, call("lower_solve", factor, right)[0], call("lower_inverse", factor)[0]

    factor, solved, inverse = together(calls, K, right)
    assert_close(factor, known, dtype)
    np.testing.assert_array_equal(np.triu(factor, 1), 0.0)
    exact = np.asarray(factor, np.float64)
    assert_close(exact @ np.asarray(solved, np.float64), right, dtype)
    assert_close(exact @ np.asarray(inverse, np.float64), np.eye(M), dtype)
    np.testing.assert_array_equal(np.triu(inverse, 1), 0.0)


def test_a_matrix_that_is_not_positive_definite_gives_no_numbers(call):
    found = np.asarray(call("inverse_cholesky", jnp.diag(jnp.asarray([1.0, -1.0, 1.0])))[0])
    assert np.isnan(found[1, 1])
    missing = jnp.eye(5).at[3, 4].set(jnp.nan)
    for name in ("cholesky", "inverse_cholesky"):
        assert np.isnan(np.asarray(call(name, missing)[0])).any()


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("M", "N", "latents"), WITH_LATENTS)
@pytest.mark.parametrize("form", ["projected", "whitened", "lifted"])
def test_moments_forward_and_backward(call, dtype, M, N, form, latents):
    inverse, matrix, mean, cross, mean_bar, change_bar = numbers(
        dtype, (M, M), (latents, M, M), (latents, M), (M, N), (latents, N), (latents, N)
    )
    inverse = np.tril(inverse)
    L, B, m, K, mu_bar, v_bar = exactly(inverse, matrix, mean, cross, mean_bar, change_bar)
    A = K if form == "projected" else L @ K
    X, left = B @ A, A if form == "whitened" else K

    def calls(inverse, matrix, mean, cross, mean_bar, change_bar):
        before = () if form == "projected" else (inverse,)
        *features, product, means, changes = call(f"forward_{form}", *before, matrix, mean, cross)
        features = (features or [cross])[0]
        first = (inverse,) if form == "whitened" else ()
        bars = features, product, mean, mean_bar, change_bar
        return features, product, means, changes, *call(f"backward_{form}", *first, *bars)

    features, product, means, changes, gram, sums, cross_bar = together(
        calls, inverse, matrix, mean, cross, mean_bar, change_bar
    )
    assert_close(features, A, dtype)
    assert_close(product, X, dtype)
    assert_close(means, m @ A, dtype)
    assert_close(changes, np.sum(left * X, axis=1), dtype)
    known = np.sum(2 * X * v_bar[:, None], axis=0) + m.T @ mu_bar
    assert_close(gram, (A * v_bar[:, None]) @ A.T, dtype)
    np.testing.assert_array_equal(gram, gram.mT)
    assert_close(sums, mu_bar @ A.T, dtype)
    assert_close(cross_bar, L.T @ known if form == "whitened" else known, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("M", "N", "latents"), WITH_LATENTS)
def test_moments_of_a_diagonal_covariance(call, dtype, M, N, latents):
    inverse, excess, mean, cross, mean_bar, change_bar = numbers(
        dtype, (M, M), (latents, M), (latents, M), (M, N), (latents, N), (latents, N)
    )
    inverse = np.tril(inverse)
    L, c, m, K, mu_bar, v_bar = exactly(inverse, excess, mean, cross, mean_bar, change_bar)
    A = L @ K

    def calls(inverse, excess, mean, cross, mean_bar, change_bar):
        features, *moments = call("forward_diagonal", inverse, excess, mean, cross)
        bars = features, excess, mean, mean_bar, change_bar
        return (features, *moments), call("backward_diagonal", inverse, *bars)

    forward, made = together(calls, inverse, excess, mean, cross, mean_bar, change_bar)
    for mine, known in zip(forward, (A, m @ A, c @ A**2), strict=True):
        assert_close(mine, known, dtype)
    weighted = 2 * A * (c.T @ v_bar)
    known = np.tril(weighted @ A.T), v_bar @ (A**2).T, mu_bar @ A.T
    for mine, other in zip((np.tril(made[0]), *made[1:3]), known, strict=True):
        assert_close(mine, other, dtype)
    assert_close(made[3], L.T @ (weighted + m.T @ mu_bar), dtype)


def test_a_quadratic_form_for_prediction(call):
    matrix, mean, cross = numbers("float64", (2, 9, 9), (2, 9), (9, 101))
    matrix = np.tril(matrix)
    B, m, K = exactly(matrix, mean, cross)
    means, changes = call("quadratic", *map(jnp.asarray, (matrix, mean, cross)))
    assert_close(means, m @ K, "float64")
    assert_close(changes, np.sum(K * (B @ K), axis=1), "float64")


def profile(name, squared):
    """Value and slope as `math.md` and `kernels/stationary.py` have them."""
    if name == "rbf":
        value = np.exp(-squared / 2)
        return value, -value / 2
    if name == "matern12":
        value = np.exp(-np.sqrt(squared))
        return value, -value / 2 / np.sqrt(np.maximum(squared, 1e-12))
    factor = {"matern32": 3, "matern52": 5}[name]
    root = np.sqrt(factor * squared)
    decay = np.exp(-root)
    if name == "matern32":
        return (1 + root) * decay, -1.5 * decay
    return (1 + root + root**2 / 3) * decay, -5 / 6 * (1 + root) * decay


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("M", "N", "D"), [(1, 1, 1), (4, 16, 2), (7, 53, 3), (33, 1030, 26)])
@pytest.mark.parametrize("name", ["rbf", "matern12", "matern32", "matern52"])
def test_kernels_and_their_sums(call, dtype, M, N, D, name):
    centres, columns, value_bar = numbers(dtype, (M, D), (D, N), (M, N))
    apart = exactly(centres)[0][:, :, None] - exactly(columns)[0]
    value, slope = profile(name, np.sum(apart**2, axis=1))

    def calls(centres, columns, value_bar):
        made = call(f"kernel_{name}", centres, columns)
        found = -0.5 * made[0] if name == "rbf" else made[1]
        return made[0], found, call("kernel_backward", value_bar, found, centres, columns)

    made, found, sums = together(calls, centres, columns, value_bar)
    assert_close(made, value, dtype)
    assert_close(found, slope, dtype)
    W = (exactly(value_bar)[0] * slope)[:, None]
    assert_close(sums[0], np.sum(W * apart, axis=2), dtype)
    assert_close(sums[1], np.sum(W * apart**2, axis=2), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_exponential_to_the_last_digits(call, dtype):
    """RBF at distances from 0 to far beyond where it is 0: two units in the last place."""
    x = np.concatenate([[0.0, 1e-30, 1e-8], np.geomspace(1e-4, 80, 2000)]).astype(dtype)
    # r² = x² is rounded before the exponential, so the known value starts from what was rounded.
    known = np.exp(-0.5 * (x * x).astype(np.longdouble))
    normal = known > 2 * np.finfo(dtype).tiny
    (found,) = call("kernel_rbf", jnp.zeros((1, 1), dtype), jnp.asarray(x[None]))
    found = np.asarray(found)[0]
    assert found[0] == 1.0
    assert np.max(np.abs(found / known - 1)[normal]) < 2 * np.finfo(dtype).eps
    assert np.all(found[known < np.finfo(dtype).tiny / 4] == 0.0)


@pytest.mark.parametrize("name", ["rbf", "matern12", "matern32", "matern52"])
def test_kernels_at_coinciding_infinite_and_missing_points(call, name):
    columns = jnp.asarray([[0.0, np.inf, np.nan, 1e200]])
    made = np.asarray(call(f"kernel_{name}", jnp.zeros((1, 1)), columns))
    assert made[0, 0, 0] == 1.0 and np.isfinite(made[:, 0, 0]).all()
    # 1e200 squared is infinite too: mistakes are to be seen, not taken for far points.
    assert np.isnan(made[0, 0, 1:]).all()
    far = np.asarray(call(f"kernel_{name}", jnp.zeros((1, 1)), jnp.full((1, 1), 1e150)))
    assert np.all(far == 0.0)


def test_what_is_no_number_is_passed_on(call):
    square, right = numbers("float32", (20, 20), (20, 100))
    right[3, 50] = np.nan

    def calls(lower, right):
        return call("lower_times", lower, right)[0], call("symmetric_product", right, right)[0]

    found, gram = together(calls, np.tril(square), right)
    assert np.isnan(found[3:, 50]).all() and np.isfinite(np.delete(found, 50, axis=1)).all()
    assert np.isnan(gram[3]).all()


def test_a_column_does_not_depend_on_the_others_nor_on_which_thread_does_it():
    inverse, matrix, mean, cross = map(
        jnp.asarray, numbers("float32", (30, 30), (1, 30, 30), (1, 30), (30, 1000))
    )
    inverse = jnp.tril(inverse)
    forward = jax.jit(lambda *args: here("forward_lifted", *args))
    all_of_them = forward(inverse, matrix, mean, cross)
    for start, stop in ((0, 1), (41, 90), (500, 1000)):
        few = here("forward_lifted", inverse, matrix, mean, cross[:, start:stop])
        for whole, part in zip(all_of_them, few, strict=True):
            np.testing.assert_array_equal(whole[..., start:stop], part)
    bars = mean, all_of_them[2], all_of_them[3]
    backward = jax.jit(lambda *args: here("backward_lifted", *args))
    first = backward(all_of_them[0], all_of_them[1], *bars)
    for _ in range(50):  # whichever thread does which task
        again = backward(all_of_them[0], all_of_them[1], *bars)
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)


def test_many_calls_at_once_neither_lock_up_nor_disturb_each_other():
    square, right = map(jnp.asarray, numbers("float32", (40, 40), (40, 3000)))
    lower = jnp.tril(square)
    known = np.asarray(lower) @ np.asarray(right)

    @jax.jit
    def several(lower, right):
        parts = [here("lower_times", lower, right * k)[0] for k in (1, 2, 3)]
        return parts[0] + parts[1] + parts[2]

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(several, lower, right) for _ in range(64)]
        for one in waiting:
            assert_close(one.result(timeout=60), 6 * known, "float32")


def test_in_scans():
    square, right = map(jnp.asarray, numbers("float64", (5, 5), (3, 5, 20)))
    lower = jnp.tril(square)
    _, scanned = jax.lax.scan(
        lambda carry, A: (carry, here("lower_times", lower, A)[0]), 0.0, right
    )
    np.testing.assert_array_equal(scanned, [here("lower_times", lower, A)[0] for A in right])


@pytest.mark.parametrize(
    "shapes",
    [((5, 5), (5,)), ((5, 5), (3, 7)), ((2, 2), (5, 7)), ((5, 4), (5, 7)), ((5, 5), (1, 5, 7))],
)
def test_shapes_that_do_not_fit_never_reach_the_machine_code(shapes):
    in_jax = jnp.zeros(())
    (found,) = native.run("lower_times", lambda *_: [in_jax], *map(jnp.ones, shapes))
    assert found is in_jax


@pytest.mark.parametrize("latents", [1, 3])
def test_axes_of_the_same_name_are_equally_long(latents):
    shapes = library.PASSES["quadratic"].result_shapes
    assert shapes((latents, 4, 4), (latents, 4), (4, 6)) == [(latents, 6), (latents, 6)]
    assert shapes((latents, 4, 4), (latents + 1, 4), (4, 6)) is None
    assert library.PASSES["lower_times_lower"].result_shapes((4, 4), (4, 6)) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_without_avx_there_is_no_instruction_of_avx(dtype):
    """Whatever this processor has: their names begin with v, their registers are ymm and zmm."""
    found = {}
    for described in ("avx2", "sse2"):
        processor = library.Processor(*PROCESSORS[described])
        assembly = ""
        for name in ("kernel_matern52", "lower_times"):
            module = library.ir.Module(name)
            library.handler(module, processor.numbers(dtype), library.PASSES[name])
            target = library.llvm.Target.from_default_triple()
            machine = target.create_target_machine(**processor._described)
            assembly += machine.emit_assembly(library.llvm.parse_assembly(str(module)))
        found[described] = re.findall(r"^\t(v\w+)|%([yz]mm\d+)", assembly, re.MULTILINE)
    assert found["avx2"] and not found["sse2"]
