"""Every pass against NumPy: all shapes, both kinds of numbers, several kinds of processors."""

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
    return [jnp.asarray(rng.standard_normal(shape).astype(dtype)) for shape in shapes]


def exactly(*arrays):
    return [np.asarray(array, np.float64) for array in arrays]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("M", "N"), SHAPES)
def test_products_of_which_half_is_known(call, dtype, M, N):
    square, right = numbers(dtype, (M, M), (M, N))
    lower = jnp.tril(square)
    L, A = exactly(lower, right)
    assert_close(call("lower_times", lower, right)[0], L @ A, dtype)
    assert_close(call("upper_times", lower, right)[0], L.T @ A, dtype)
    scaled = right * jnp.arange(N, dtype=right.dtype)
    gram = call("symmetric_product", scaled, right)[0]
    assert_close(gram, (A * np.arange(N)) @ A.T, dtype)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("M", "N"), SHAPES)
@pytest.mark.parametrize("form", ["projected", "whitened", "lifted"])
def test_moments_forward_and_backward(call, dtype, M, N, form):
    inverse, matrix, mean, cross, mean_bar, change_bar = numbers(
        dtype, (M, M), (1, M, M), (1, M), (M, N), (1, N), (1, N)
    )
    inverse = jnp.tril(inverse)
    L, (B,), (m,), K, mu_bar, v_bar = exactly(inverse, matrix, mean, cross, mean_bar, change_bar)
    A = K if form == "projected" else L @ K
    X, left = B @ A, A if form == "whitened" else K
    before = () if form == "projected" else (inverse,)
    *features, product, means, changes = call(f"forward_{form}", *before, matrix, mean, cross)
    features = (features or [cross])[0]
    assert_close(features, A, dtype)
    assert_close(product, X, dtype)
    assert_close(means, m @ A, dtype)
    assert_close(changes, np.sum(left * X, axis=0), dtype)
    first = (inverse,) if form == "whitened" else ()
    bars = features, product, mean, mean_bar, change_bar
    gram, sums, cross_bar = call(f"backward_{form}", *first, *bars)
    known = 2 * X * v_bar + m[:, None] * mu_bar
    assert_close(gram, (A * v_bar) @ A.T, dtype)
    np.testing.assert_array_equal(gram, gram.mT)
    assert_close(sums, A @ mu_bar[0], dtype)
    assert_close(cross_bar, L.T @ known if form == "whitened" else known, dtype)


def test_a_quadratic_form_for_prediction(call):
    matrix, mean, cross = numbers("float64", (1, 9, 9), (1, 9), (9, 101))
    matrix = jnp.tril(matrix)
    (B,), (m,), K = exactly(matrix, mean, cross)
    means, changes = call("quadratic", matrix, mean, cross)
    assert_close(means, m @ K, "float64")
    assert_close(changes, np.sum(K * (B @ K), axis=0), "float64")


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
    made = call(f"kernel_{name}", centres, columns)
    assert_close(made[0], value, dtype)
    found = -0.5 * made[0] if name == "rbf" else made[1]
    assert_close(found, slope, dtype)
    sums = call("kernel_backward", value_bar, found, centres, columns)
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
    lower, right = jnp.tril(square), right.at[3, 50].set(jnp.nan)
    found = np.asarray(call("lower_times", lower, right)[0])
    assert np.isnan(found[3:, 50]).all() and np.isfinite(np.delete(found, 50, axis=1)).all()
    assert np.isnan(call("symmetric_product", right, right)[0][3]).all()


def test_a_column_does_not_depend_on_the_others_nor_on_which_thread_does_it():
    inverse, matrix, mean, cross = numbers("float32", (30, 30), (1, 30, 30), (1, 30), (30, 1000))
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
    square, right = numbers("float32", (40, 40), (40, 3000))
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
    square, right = numbers("float64", (5, 5), (3, 5, 20))
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
def test_moments_of_one_latent_function_only(latents):
    matrix, mean, cross = jnp.ones((latents, 4, 4)), jnp.ones((latents, 4)), jnp.ones((4, 6))
    shapes = library.PASSES["quadratic"].result_shapes(matrix.shape, mean.shape, cross.shape)
    assert shapes == ([(1, 6), (1, 6)] if latents == 1 else None)
