"""Models, kernels and products by machine code agree with JAX, derivatives included."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import (
    KL,
    RBF,
    Batch,
    Gaussian,
    Matern12,
    Matern32,
    Matern52,
    Objective,
    SparseGP,
    WhitenedGaussian,
)
from directgp.expectations import choose_expectation
from directgp.linalg import native
from directgp.linalg.triangular import lower_times, symmetric_product, upper_times
from directgp.losses import losses
from directgp.parameters import split_trainable

NUM_ROWS, NUM_COLUMNS, NUM_INDUCING = 203, 3, 17
KERNELS = {"rbf": RBF, "matern12": Matern12, "matern32": Matern32, "matern52": Matern52}


def gradient(kernel, precision, loss, seed=0):
    """The objective of a half-trained model and its gradient with respect to everything."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(NUM_ROWS, NUM_COLUMNS)), rng.normal(size=NUM_ROWS)
    prior = WhitenedGaussian.prior(NUM_INDUCING)
    model = SparseGP(kernel(1.3, np.full(NUM_COLUMNS, 1.4)), jnp.asarray(X[:NUM_INDUCING]), prior)
    likelihood = Gaussian(0.3)
    learned, fixed = split_trainable((model, likelihood))
    # Away from the prior, where the gradient of S would be special.
    learned = jax.tree.map(lambda leaf: leaf + 0.1 * rng.normal(size=leaf.shape), learned)
    score = losses.create(loss)
    objective = Objective(score, KL(), choose_expectation(score.needs, likelihood), precision)
    batch = Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(NUM_ROWS))

    def value(learned):
        model, likelihood = eqx.combine(learned, fixed)
        options = {"beta": jnp.asarray(0.7), "num_data": jnp.asarray(500.0), "key": None}
        return objective(model, likelihood, batch, **options)[0]

    found, slope = jax.jit(jax.value_and_grad(value))(learned)
    return [found, *jax.tree.leaves(slope)]


@cache
def gradient_by_jax(kernel, loss):
    """Without machine code; once for all precisions."""
    with native.machine_code(False):
        return gradient(kernel, "float64", loss)


@pytest.mark.machine_code
@pytest.mark.parametrize("loss", ["elbo", "direct-log"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize(
    ("precision", "tolerance"), [("float64", 1e-7), ("mixed", 1e-4), ("fast", 1e-4)]
)
def test_objective_and_gradient_as_jax_has_them(kernel, precision, tolerance, loss):
    ours = gradient(kernel, precision, loss)
    known = gradient_by_jax(kernel, loss)
    for mine, other in zip(ours, known, strict=True):
        assert np.linalg.norm(mine - other) <= tolerance * np.linalg.norm(other)


@pytest.mark.machine_code
def test_a_subclass_with_another_profile_keeps_it():
    class Wide(RBF):
        @staticmethod
        def profile(squared):
            return jnp.exp(-0.125 * squared)

        @staticmethod
        def slope(squared, value):
            return -0.125 * value

    X = jnp.asarray([[0.0], [2.0]])
    np.testing.assert_allclose(Wide(1.0, 1.0).matrix(X, X)[0, 1], np.exp(-0.5), rtol=1e-12)
    np.testing.assert_allclose(RBF(1.0, 1.0).matrix(X, X)[0, 1], np.exp(-2.0), rtol=1e-12)


@pytest.mark.machine_code
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernel_matrices_are_symmetric_to_the_last_bit(kernel):
    X = jnp.asarray(np.random.default_rng(0).normal(size=(40, 3)))
    K = kernel(1.2, np.ones(3)).matrix(X, X)
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("times", [lower_times, upper_times, symmetric_product])
def test_products_have_the_derivative_of_plain_ones(times, rng):
    """Against autodiff of the plain product, of numbers that are triangular or symmetric."""
    if times is symmetric_product:
        A = jnp.asarray(rng.normal(size=(6, 9)))
        left, right, plain = A * jnp.arange(9.0), A, lambda left, right: left @ right.T
    else:
        left, right = jnp.tril(rng.normal(size=(6, 6))), jnp.asarray(rng.normal(size=(6, 9)))
        turn = jnp.transpose if times is upper_times else lambda matrix: matrix
        plain = lambda left, right: turn(jnp.tril(left)) @ right  # noqa: E731
    weights = jnp.asarray(rng.normal(size=plain(left, right).shape))
    found = jax.grad(lambda *pair: jnp.sum(weights * times(*pair)), (0, 1))(left, right)
    known = jax.grad(lambda *pair: jnp.sum(weights * plain(*pair)), (0, 1))(left, right)
    if times is not symmetric_product:  # what is above the diagonal of L is nobody's
        found = jnp.tril(found[0]), found[1]
    for mine, other in zip(found, known, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-11, atol=1e-12)


@pytest.mark.machine_code
@pytest.mark.parametrize("precision", ["float64", "mixed", "fast"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_derivatives_of_any_order_and_mode(kernel, precision, rng):
    """Machine code has none of its own: they come from the same functions in JAX."""
    Z, x = jnp.asarray(rng.normal(size=(6, 2))), jnp.asarray(rng.normal(size=2))
    q = WhitenedGaussian.prior(6)
    q = eqx.tree_at(lambda q: q.mean, q, jnp.asarray(rng.normal(size=(1, 6))))
    model = SparseGP(kernel(1.3, np.full(2, 0.8)), Z, q)

    def moments(x):
        marginals = model.condition(precision).marginals(x[None])
        return jnp.stack([marginals.mean.sum(), marginals.variance.sum()])

    def derivatives(x):
        return jax.jacrev(moments)(x), jax.jacrev(jax.jacrev(moments))(x)

    found = jax.jit(derivatives)(x)
    with native.machine_code(False):
        known = jax.jit(lambda x: derivatives(x))(x)  # another function: traced again
    for mine, other in zip(found, known, strict=True):
        tolerance = 1e-9 if precision == "float64" else 1e-3
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.machine_code
def test_products_have_a_derivative_in_forward_mode(rng):
    L, A = jnp.tril(rng.normal(size=(5, 5))), jnp.asarray(rng.normal(size=(5, 8)))
    step = jnp.asarray(rng.normal(size=(5, 8)))
    value, slope = jax.jvp(lambda A: lower_times(L, A), (A,), (step,))
    np.testing.assert_allclose(value, L @ A, rtol=1e-12)
    np.testing.assert_allclose(slope, L @ step, rtol=1e-12)


@pytest.mark.machine_code
def test_kernels_with_wrong_columns_are_refused():
    with pytest.raises(TypeError):
        RBF(1.0, 1.0).matrix(jnp.ones((2, 1)), jnp.ones((4, 3)))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_it_does_not_matter_which_argument_is_longer(kernel, rng):
    X, Z = jnp.asarray(rng.normal(size=(30, 2))), jnp.asarray(rng.normal(size=(7, 2)))
    k = kernel(1.5, np.ones(2))
    np.testing.assert_array_equal(k.matrix(X, Z), k.matrix(Z, X).T)
    found = jax.grad(lambda X: jnp.sum(jnp.sin(k.matrix(X, Z))))(X)
    known = jax.grad(lambda X: jnp.sum(jnp.sin(k.matrix(Z, X))))(X)
    np.testing.assert_allclose(found, known, rtol=1e-12)
