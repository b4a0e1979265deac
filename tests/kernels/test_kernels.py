"""Every kernel against its textbook formula, and what every kernel promises."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree

from directgp.divergences import WhitenedGaussian
from directgp.kernels import (
    RBF,
    Kernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    OnColumns,
    Product,
    Scaled,
    Sum,
    kernels,
    squared_distance,
)
from directgp.models import SparseGP
from directgp.parameters import split_trainable, unwrap
from directgp.training.initialise import initial_kernel

SCALES = np.array([0.7, 1.3, 2.5])


def distance(X, Z, scales=SCALES):
    return np.sqrt(np.sum(((X[:, None] - Z[None]) / scales) ** 2, axis=-1))


def rbf(X, Z):
    return 1.7 * np.exp(-0.5 * distance(X, Z) ** 2)


def matern12(X, Z):
    return 1.7 * np.exp(-distance(X, Z))


def matern32(X, Z):
    r = np.sqrt(3.0) * distance(X, Z)
    return 1.7 * (1.0 + r) * np.exp(-r)


def matern52(X, Z):
    r = np.sqrt(5.0) * distance(X, Z)
    return 1.7 * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def linear(X, Z):
    return (X * SCALES) @ Z.T + 0.4


FORMULAS = {
    "rbf": (lambda: RBF(1.7, SCALES), rbf),
    "matern12": (lambda: Matern12(1.7, SCALES), matern12),
    "matern32": (lambda: Matern32(1.7, SCALES), matern32),
    "matern52": (lambda: Matern52(1.7, SCALES), matern52),
    "linear": (lambda: Linear(SCALES, 0.4), linear),
    "sum": (
        lambda: RBF(1.7, SCALES) + Linear(SCALES, 0.4) + Matern32(1.7, SCALES),
        lambda X, Z: rbf(X, Z) + linear(X, Z) + matern32(X, Z),
    ),
    "product": (
        lambda: RBF(1.7, SCALES) * Linear(SCALES, 0.4) * Matern32(1.7, SCALES),
        lambda X, Z: rbf(X, Z) * linear(X, Z) * matern32(X, Z),
    ),
    "columns": (
        lambda: OnColumns(Matern52(0.6, [0.5, 2.0]), (2, 0)),
        lambda X, Z: (
            0.6
            * (lambda r: (1 + r + r**2 / 3) * np.exp(-r))(
                np.sqrt(5.0) * distance(X[:, [2, 0]], Z[:, [2, 0]], [0.5, 2.0])
            )
        ),
    ),
    "scaled": (lambda: Scaled(Linear(SCALES, 0.4), 3.0), lambda X, Z: 3.0 * linear(X, Z)),
    "isotropic": (
        lambda: RBF(2.0, 0.9),
        lambda X, Z: 2.0 * np.exp(-0.5 * distance(X, Z, 0.9) ** 2),
    ),
}


@pytest.fixture
def inputs(rng):
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    Z[0] = X[0]  # coinciding rows
    return X, Z


def test_every_registered_kernel_has_its_formula_here():
    assert set(kernels) <= set(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_values(name, inputs):
    make, formula = FORMULAS[name]
    kernel, (X, Z) = make(), inputs
    assert isinstance(kernel, Kernel)
    # √r² of coinciding rows is only known to √(rounding), about 1e-8.
    tolerance = {"rtol": 1e-10, "atol": 1e-7 if name == "matern12" else 1e-12}

    @jax.jit
    def everything(X, Z):
        return kernel.matrix(X, Z), kernel.evaluate(X[2], Z[3]), kernel.diagonal(X)

    matrix, one, diagonal = everything(jnp.asarray(X), jnp.asarray(Z))
    np.testing.assert_allclose(matrix, formula(X, Z), **tolerance)
    np.testing.assert_allclose(one, formula(X, Z)[2, 3], rtol=1e-10)
    np.testing.assert_allclose(diagonal, np.diag(formula(X, X)), rtol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients(name, inputs):
    """With respect to inputs and parameters, against differences of the textbook formula."""
    kernel, (X, Z) = FORMULAS[name][0](), inputs
    Z = Z + 0.3  # apart: Matérn-1/2 has no derivative where rows coincide
    weights = np.random.default_rng(1).normal(size=(7, 5))
    learned, fixed = split_trainable(kernel)

    def value(learned, X, Z):
        return jnp.sum(weights * eqx.combine(learned, fixed).matrix(X, Z))

    point = (learned, jnp.asarray(X), jnp.asarray(Z))
    flat, unflatten = ravel_pytree(point)
    step = 1e-6

    @jax.jit
    def both(flat):
        def at(flat):
            return value(*unflatten(flat))

        shifts = step * jnp.eye(len(flat))
        numeric = jax.lax.map(lambda s: at(flat + s) - at(flat - s), shifts) / (2 * step)
        return jax.grad(at)(flat), numeric

    np.testing.assert_allclose(*both(flat), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_of_a_matrix_of_the_same_rows(name, inputs):
    """With any weights, symmetric or not: as of two arguments that happen to be equal."""
    kernel, (X, _) = FORMULAS[name][0](), inputs
    weights = np.random.default_rng(1).normal(size=(7, 7))
    learned, fixed = split_trainable(kernel)

    def value(learned, X, *other):
        return jnp.sum(weights * eqx.combine(learned, fixed).matrix(X, *(other or (X,))))

    X = jnp.asarray(X)
    found = jax.jit(jax.grad(value, (0, 1)))(learned, X)
    of_kernel, first, second = jax.jit(jax.grad(value, (0, 1, 2)))(learned, X, X)
    for mine, known in zip(
        jax.tree.leaves(found), jax.tree.leaves((of_kernel, first + second)), strict=True
    ):
        # Matérn-1/2 has a slope of 5e5 where rows coincide, which the sum of two cancels.
        np.testing.assert_allclose(mine, known, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_are_finite_where_rows_coincide(name, inputs):
    kernel, X = FORMULAS[name][0](), jnp.asarray(inputs[0])
    X = jnp.concatenate([X, X])
    learned, fixed = split_trainable(kernel)

    def value(learned, X):
        kernel = eqx.combine(learned, fixed)
        return jnp.sum(kernel.matrix(X, X)) + jnp.sum(kernel.matrix(X, X[:2]) ** 2)

    for leaf in jax.tree.leaves(jax.jit(jax.grad(value, argnums=(0, 1)))(learned, X)):
        assert np.isfinite(leaf).all()


@pytest.mark.parametrize("name", FORMULAS)
def test_matrices_are_positive_semidefinite(name, rng):
    kernel = FORMULAS[name][0]()
    X = rng.normal(size=(30, 3)) * 10.0 ** rng.uniform(-3, 1, (30, 1))
    X[:3] = X[3:6]
    matrix, diagonal = jax.jit(lambda X: (kernel.matrix(X, X), kernel.diagonal(X)))(X)
    matrix = np.asarray(matrix)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-10)
    assert np.linalg.eigvalsh(matrix).min() > -1e-6 * matrix.diagonal().max()
    # Matérn-1/2 turns rounding of r² into its square root.
    np.testing.assert_allclose(diagonal, matrix.diagonal(), rtol=1e-6)


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4),
    st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4),
)
def test_squared_distance_is_never_negative_and_right(x, z):
    with jax.enable_x64(True):
        X, Z = np.array(x).reshape(2, 2), np.array(z).reshape(2, 2)
        value = np.asarray(squared_distance(jnp.asarray(X), jnp.asarray(Z)))
    assert (value >= 0).all()
    expected = np.sum((X[:, None] - Z[None]) ** 2, axis=-1)
    np.testing.assert_allclose(value, expected, atol=1e-9 * (1 + np.max(X**2) + np.max(Z**2)))


def test_sums_and_products_keep_their_parts():
    first, second = RBF(), Linear()
    assert (first + second).parts == (first, second)
    assert isinstance(first + second, Sum) and isinstance(first * second, Product)


def test_a_number_of_times_a_kernel_is_scaled(inputs):
    X, Z = (jnp.asarray(part) for part in inputs)
    for number in (2.0, 2, np.float64(2.0), np.array(2.0), jnp.asarray(2.0)):
        for kernel in (number * RBF(), RBF() * number):
            assert isinstance(kernel, Scaled) and float(unwrap(kernel.variance)) == 2.0
    np.testing.assert_allclose(kernel.matrix(X, Z), 2.0 * RBF().matrix(X, Z))
    for wrong in (lambda: RBF() * [1.0, 2.0], lambda: np.ones(2) * RBF(), lambda: "a" * RBF()):
        with pytest.raises(TypeError, match="multiplies with a kernel or one number, got a "):
            wrong()
    for wrong in (lambda: RBF() + 1.0, lambda: 1.0 + RBF(), lambda: np.float64(1.0) + RBF()):
        with pytest.raises(TypeError, match=r"a kernel adds to a kernel, got .*1\.0"):
            wrong()


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (
            RBF(lengthscale=[1.0, 1.0]),
            "RBF has 2 length-scales but its inputs have 3 columns; give",
        ),
        (Linear([1.0] * 4), "Linear has 4 variances but its inputs have 3 columns"),
        (Linear() + 2.0 * Matern32(lengthscale=[1.0] * 5), "Matern32 has 5 length-scales"),
        (OnColumns(RBF(lengthscale=[1.0] * 3), (0, 2)), "RBF has 3 .* inputs have 2 columns"),
        (OnColumns(RBF(), (0, 3)), "names column 3 but its inputs have columns 0 to 2"),
    ],
    ids=["stationary", "linear", "composed", "of-columns", "beyond"],
)
def test_kernels_of_other_columns_are_refused(kernel, words):
    with pytest.raises(ValueError, match=words):
        initial_kernel(kernel, np.zeros((4, 3)), 0)


def test_a_named_kernel_starts_at_the_size_of_the_data():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert float(unwrap(initial_kernel("rbf", X, 0).lengthscale)[1]) == 5.0
    np.testing.assert_allclose(unwrap(initial_kernel("linear", X, 0).variance), [0.5, 0.5])
    fits = [RBF(), RBF(lengthscale=[2.0]), RBF(lengthscale=[1.0, 2.0]), OnColumns(Linear(), (-1,))]
    assert [initial_kernel(kernel, X, 0) for kernel in fits] == fits


def test_parameters_must_start_positive():
    with pytest.raises(ValueError, match="must start above 0"):
        RBF(variance=-1.0)
    with pytest.raises(ValueError, match="must start above 0"):
        Matern32(lengthscale=[1.0, 0.0])
    np.testing.assert_allclose(unwrap(RBF(2.0, [3.0, 4.0]).lengthscale), [3.0, 4.0])


class Biased(RBF):
    """What a user may write: a stationary kernel and something beside it."""

    def matrix(self, X, Z):
        return super().matrix(X, Z) + 0.5

    def diagonal(self, X):
        return super().diagonal(X) + 0.5


@pytest.mark.parametrize(
    ("kernel", "variance"),
    [
        (RBF(1.7, SCALES), 1.7),
        (Matern52(0.3, SCALES), 0.3),
        (2.0 * RBF(1.7, SCALES), 3.4),
        (3.0 * Linear(SCALES, 0.4), 3.0),
        (RBF(1.7, SCALES) + Matern12(0.2, SCALES), 1.0),
        (Linear(SCALES, 0.4), 1.0),
        (Biased(1.7, SCALES), 1.0),
        (2.0 * Biased(1.7, SCALES), 2.0),
    ],
    ids=["rbf", "matern52", "scaled rbf", "scaled linear", "sum", "linear", "own", "scaled own"],
)
def test_a_kernel_is_its_variance_times_the_rest(kernel, variance, rng):
    X, Z = jnp.asarray(rng.normal(size=(5, 3))), jnp.asarray(rng.normal(size=(4, 3)))

    @jax.jit
    def both(X, Z):
        factor, rest = kernel.without_variance()
        products = factor * rest.matrix(X, Z), factor * rest.diagonal(X)
        return factor, products, (kernel.matrix(X, Z), kernel.diagonal(X))

    factor, products, known = both(X, Z)
    np.testing.assert_allclose(factor, variance, rtol=1e-12)
    for product, whole in zip(products, known, strict=True):
        np.testing.assert_allclose(product, whole, rtol=1e-12)


def test_a_variance_too_small_for_float32_is_still_learned():
    """k(x, z) underflows there, but its variance is taken out before."""
    posterior = WhitenedGaussian.from_moments(jnp.ones((1, 3)), 0.5 * jnp.eye(3)[None])
    Z = jnp.asarray([[0.0], [1.0], [2.0]])
    model = SparseGP(RBF(1e-60, [1.0]), Z, posterior)
    learned, fixed = split_trainable(model)
    for precision in ("mixed", "float64"):
        q = jax.jit(lambda Z, precision=precision: model.condition(precision).marginals(Z))(Z)
        assert np.isfinite(q.mean).all() and (np.asarray(q.variance) > 0).all()
        np.testing.assert_allclose(np.asarray(q.variance)[0, 0, 0], 0.25e-60, rtol=1e-3)

        def log_spread(learned, precision=precision):
            q = eqx.combine(learned, fixed).condition(precision).marginals(Z)
            return jnp.sum(jnp.log(q.variance))

        # Three log variances, each of which moves with the logarithm of the kernel's.
        slope = jax.jit(jax.grad(log_spread))(learned).kernel.variance
        np.testing.assert_allclose(jax.tree.leaves(slope), [3.0], rtol=1e-5)
