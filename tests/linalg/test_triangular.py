"""Cholesky factors and their inverses: right, and safe for any kernel matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.linalg import native, triangular
from directgp.linalg.triangular import add_jitter, inverse_cholesky


def test_inverse_cholesky():
    root = np.random.default_rng(0).normal(size=(5, 5))
    K = jnp.asarray(root @ root.T + 0.1 * np.eye(5))
    inverse = np.asarray(inverse_cholesky(K))
    np.testing.assert_allclose(inverse, np.tril(inverse), atol=0)
    np.testing.assert_allclose(inverse.T @ inverse, np.linalg.inv(K), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("size,draws", [(30, 40), (200, 4), (531, 1)])
def test_inverse_of_an_ill_conditioned_matrix_is_as_exact_as_lapack_has_it(size, draws):
    """In the mean of many small matrices: the largest rounding error of one is a matter of luck."""

    def error(inverse, K):
        return np.max(np.abs(np.asarray(inverse) @ K @ np.asarray(inverse).T - np.eye(size)))

    errors = []
    for seed in range(draws):
        Z = np.random.default_rng(1 + seed).normal(size=(size, 3))
        squared = np.sum((Z[:, None] - Z) ** 2, axis=-1)
        K = add_jitter(jnp.asarray(np.exp(-squared / 8.0)), 1e-6)
        ours, by_lapack = inverse_cholesky(K), triangular._by_lapack(K)[0]
        errors.append((error(ours, np.asarray(K)), error(by_lapack, np.asarray(K))))
    ours, lapack = np.mean(errors, axis=0)
    assert ours <= 1.5 * lapack


def products(L, T, A, B):
    """Every product of this module, beside what it is."""
    return [
        (triangular.lower_times(L, A), L @ A),
        (triangular.upper_times(L, A), L.T @ A),
        (triangular.lower_times_lower(L, T), L @ T),
        (triangular.upper_times_lower(L, T), L.T @ T),
        (triangular.times_lower(A, L), A @ L),
        (triangular.square_of_lower(L), L @ L.T),
        (triangular.lower_half_of_product(L, A), jnp.tril(L @ A)),
        (triangular.lower_half_of_outer(A, B), jnp.tril(A @ B.T)),
        (triangular.lower_congruence(L, A + A.T), L @ (A + A.T) @ L.T),
        (triangular.upper_congruence(L, A + A.T), L.T @ (A + A.T) @ L),
    ]


@pytest.mark.parametrize("by_machine", [False, True], ids=["JAX", "machine code"])
@pytest.mark.parametrize("size", [6, 160])
def test_products_of_triangles_and_their_derivatives(size, by_machine, rng):
    L, T = (jnp.tril(rng.normal(size=(size, size))) for _ in range(2))
    A, B = (jnp.asarray(rng.normal(size=(size, size))) for _ in range(2))
    weights = jnp.asarray(rng.normal(size=(size, size)))

    def weighed(side, number):
        return lambda *values: jnp.sum(weights * products(*values)[number][side])

    with native.machine_code(by_machine):
        for number, (mine, known) in enumerate(products(L, T, A, B)):
            np.testing.assert_allclose(mine, known, rtol=1e-11, atol=1e-11 * size)
            if size > 10:
                continue
            # What is above the diagonal of a triangle is nobody's, and a half of what is symmetric
            # is taken for both: derivatives along what stays triangular and symmetric are equal.
            slopes = [jax.grad(weighed(side, number), (0, 1, 2, 3))(L, T, A, B) for side in (0, 1)]
            for at, (own, other) in enumerate(zip(*slopes, strict=True)):
                own, other = (jnp.tril(x) if at < 2 else x for x in (own, other))
                np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_jitter_is_relative_and_makes_any_kernel_matrix_safe(size):
    rank_one = size * jnp.ones((6, 6))
    safe = add_jitter(rank_one, 1e-6)
    np.testing.assert_allclose(np.diagonal(safe), size * (1 + 1e-6), rtol=1e-12)
    assert np.isfinite(jnp.linalg.cholesky(safe)).all()
