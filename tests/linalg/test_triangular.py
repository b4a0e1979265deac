"""Cholesky factors and their inverses: right, and safe for any kernel matrix."""

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.linalg.triangular import add_jitter, inverse_cholesky


def test_inverse_cholesky():
    root = np.random.default_rng(0).normal(size=(5, 5))
    K = jnp.asarray(root @ root.T + 0.1 * np.eye(5))
    inverse = np.asarray(inverse_cholesky(K))
    np.testing.assert_allclose(inverse, np.tril(inverse), atol=0)
    np.testing.assert_allclose(inverse.T @ inverse, np.linalg.inv(K), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_jitter_is_relative_and_makes_any_kernel_matrix_safe(size):
    rank_one = size * jnp.ones((6, 6))
    safe = add_jitter(rank_one, 1e-6)
    np.testing.assert_allclose(np.diagonal(safe), size * (1 + 1e-6), rtol=1e-12)
    assert np.isfinite(jnp.linalg.cholesky(safe)).all()
