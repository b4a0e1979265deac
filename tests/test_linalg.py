"""The hand-written derivatives of `linalg` against plain autodiff of the textbook formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from directgp.linalg import (
    add_jitter,
    inverse_cholesky,
    project,
    projected_moments,
    whiten,
    whitened_moments,
)

FORMS = {
    "projected": lambda K, m, S, cross: projected_moments(project(K, m, S), cross),
    "whitened": lambda K, m, S, cross: whitened_moments(whiten(K, m, S), cross),
}


def make(latents, mean_field, M=5, N=9):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(M, M))
    scale = rng.normal(size=(latents, M)) if mean_field else rng.normal(size=(latents, M, M))
    values = (root @ root.T + 0.1 * np.eye(M), rng.normal(size=(latents, M)), scale)
    cross = rng.normal(size=(M, N))
    return tuple(jnp.asarray(value) for value in (*values, cross))


def textbook(K, m, S, cross):
    """μ_p = k_xu K⁻¹ u_p and k_xu K⁻¹ (V_p − K) K⁻¹ k_ux with u_p = L m_p, V_p = L S_p S_pᵀ Lᵀ."""
    K = 0.5 * (K + K.T)
    L = jnp.linalg.cholesky(K)
    A = jnp.linalg.solve(K, cross)
    means, changes = [], []
    for mean, scale in zip(m, S, strict=True):
        scale = jnp.diag(scale) if scale.ndim == 1 else jnp.tril(scale)
        V = L @ scale @ scale.T @ L.T
        means.append(A.T @ (L @ mean))
        changes.append(jnp.sum(A * ((V - K) @ A), axis=0))
    return jnp.stack(means), jnp.stack(changes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mean_field", [False, True])
@pytest.mark.parametrize("latents", [1, 3])
def test_moments_and_all_gradients(form, mean_field, latents):
    values = make(latents, mean_field)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(2, latents, 9))

    def loss(moments):
        mean, change = moments
        return jnp.sum(weights[0] * jnp.sin(mean)) + jnp.sum(weights[1] * change**2)

    def fast(K, m, S, cross):
        S = S if mean_field else jnp.tril(S)
        return FORMS[form](0.5 * (K + K.T), m, S, cross)

    for ours, reference in zip(fast(*values), textbook(*values), strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-9)
    every = (0, 1, 2, 3)
    ours = jax.jit(jax.grad(lambda *v: loss(fast(*v)), every))(*values)
    reference = jax.jit(jax.grad(lambda *v: loss(textbook(*v)), every))(*values)
    for name, left, right in zip("KmSc", ours, reference, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("form", FORMS)
def test_gradient_against_finite_differences(form):
    values = make(2, False, M=3, N=4)
    flat, unflatten = ravel_pytree(values)

    def loss(flat):
        K, m, S, cross = unflatten(flat)
        mean, change = FORMS[form](0.5 * (K + K.T), m, jnp.tril(S), cross)
        return jnp.sum(jnp.sin(mean)) + jnp.sum(jnp.cos(change))

    step = 1e-6
    shifts = step * jnp.eye(len(flat))
    numeric = jax.jit(jax.vmap(lambda s: (loss(flat + s) - loss(flat - s)) / (2 * step)))(shifts)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(flat), numeric, rtol=1e-6, atol=1e-7)


def test_inverse_cholesky():
    K = make(1, False)[0]
    inverse = np.asarray(inverse_cholesky(K))
    np.testing.assert_allclose(inverse, np.tril(inverse), atol=0)
    np.testing.assert_allclose(inverse.T @ inverse, np.linalg.inv(K), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_jitter_is_relative_and_makes_any_kernel_matrix_safe(size):
    rank_one = size * jnp.ones((6, 6))
    safe = add_jitter(rank_one, 1e-6)
    np.testing.assert_allclose(np.diagonal(safe), size * (1 + 1e-6), rtol=1e-12)
    assert np.isfinite(jnp.linalg.cholesky(safe)).all()
