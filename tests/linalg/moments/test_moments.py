"""The hand-written derivatives of `moments` against plain autodiff of the textbook formula."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from directgp.linalg import native, triangular
from directgp.linalg.moments import MOMENTS

DIFFERENTIABLE = ["projected", "whitened", "lifted"]


def moments(form, K, m, S, cross):
    factor, of_batch = MOMENTS[form]
    return of_batch(factor(K, m, S), cross)


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


@pytest.mark.parametrize(
    ("form", "mean_field"),
    [(form, False) for form in DIFFERENTIABLE] + [("projected", True), ("whitened", True)],
)
@pytest.mark.parametrize("latents", [1, 3])
@pytest.mark.parametrize("split", [False, True], ids=["whole", "in pieces"])
def test_moments_and_all_gradients(form, mean_field, latents, split, monkeypatch):
    if split:  # as large matrices are: products of triangles by rows, inverses by halves
        monkeypatch.setattr(triangular, "_SMALL_PRODUCT", 2)
        monkeypatch.setattr(triangular, "_SMALL_INVERSE", 2)
    values = make(latents, mean_field)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(2, latents, 9))

    def loss(result):
        mean, change = result
        return jnp.sum(weights[0] * jnp.sin(mean)) + jnp.sum(weights[1] * change**2)

    def fast(K, m, S, cross):
        S = S if mean_field else jnp.tril(S)
        return moments(form, 0.5 * (K + K.T), m, S, cross)

    def everything(function):
        def value(*values):
            return loss(function(*values)), function(*values)

        gradient, outputs = jax.jit(jax.grad(value, (0, 1, 2, 3), has_aux=True))(*values)
        return dict(zip(["mean", "change", *"KmSk"], (*outputs, *gradient), strict=True))

    reference = everything(textbook)
    for name, ours in everything(fast).items():
        np.testing.assert_allclose(ours, reference[name], rtol=1e-8, atol=1e-8, err_msg=name)


def formula(form, parts, cross):
    """What the moments of a batch are a function of: constants are said to be constants."""
    if form == "projected":
        return parts.weights @ cross, jnp.einsum("mn,pmk,kn->pn", cross, parts.matrix, cross)
    basis, excess, mean, turn = parts.whitened if form == "lifted" else parts
    A = jax.lax.stop_gradient(basis) @ cross
    if turn is None:
        return mean @ A, jnp.einsum("mn,pmk,kn->pn", A, excess, A)
    return mean @ A, excess @ (A + jnp.tril(turn) @ A) ** 2


@pytest.mark.parametrize("by_machine", [False, True], ids=["JAX", "machine code"])
@pytest.mark.parametrize(
    ("form", "mean_field"),
    [(form, False) for form in DIFFERENTIABLE] + [("projected", True), ("whitened", True)],
)
@pytest.mark.parametrize("latents", [1, 2])
def test_every_argument_gets_its_own_cotangent(form, mean_field, latents, by_machine):
    """Those of a batch are what autodiff has for the formula, argument by argument."""
    K, m, S, cross = make(latents, mean_field)
    factor, of_batch = MOMENTS[form]
    parts = factor(K, m, S if mean_field else jnp.tril(S))
    weights = np.random.default_rng(2).normal(size=(2, latents, 9))

    def gradient(function):
        def loss(parts, cross):
            mean, change = function(parts, cross)
            return jnp.sum(weights[0] * jnp.sin(mean)) + jnp.sum(weights[1] * change**2)

        return jax.tree.leaves(jax.jit(jax.grad(loss, (0, 1)))(parts, cross))

    with native.machine_code(by_machine):
        ours = gradient(of_batch)
    for mine, known in zip(ours, gradient(partial(formula, form)), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-9, atol=1e-9)


def test_the_lifted_form_refuses_a_diagonal():
    with pytest.raises(ValueError, match="is for a full covariance; use form='whitened'"):
        moments("lifted", *make(1, True))


@pytest.mark.parametrize("form", DIFFERENTIABLE)
def test_gradient_against_finite_differences(form):
    values = make(2, False, M=3, N=4)
    flat, unflatten = ravel_pytree(values)

    def loss(flat):
        K, m, S, cross = unflatten(flat)
        mean, change = moments(form, 0.5 * (K + K.T), m, jnp.tril(S), cross)
        return jnp.sum(jnp.sin(mean)) + jnp.sum(jnp.cos(change))

    step = 1e-6
    shifts = step * jnp.eye(len(flat))
    numeric = jax.jit(jax.vmap(lambda s: (loss(flat + s) - loss(flat - s)) / (2 * step)))(shifts)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(flat), numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("size", [65, 258])
def test_sizes_at_which_products_are_split(size):
    form = "projected"
    values = make(2, False, M=size, N=3)
    K, m, S, cross = values
    K, S = 0.5 * (K + K.T) + size * jnp.eye(size), jnp.tril(S) / size
    ours_and_reference = zip(
        jax.jit(moments, static_argnums=0)(form, K, m, S, cross),
        jax.jit(textbook)(K, m, S, cross),
        strict=True,
    )
    for ours, reference in ours_and_reference:
        np.testing.assert_allclose(ours, reference, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("mean_field", [False, True])
def test_rotated_moments(mean_field):
    K, m, S, cross = make(3, mean_field)
    S = S if mean_field else jnp.tril(S)
    for ours, reference in zip(
        jax.jit(moments, static_argnums=0)("rotated", K, m, S, cross),
        jax.jit(textbook)(K, m, S, cross),
        strict=True,
    ):
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-9)
