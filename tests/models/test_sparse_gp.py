"""The sparse GP against the formula of its docstring, in every form and precision."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree

from directgp.divergences import WhitenedGaussian
from directgp.kernels import RBF, Linear, Matern12, Matern52
from directgp.linalg.moments import MOMENTS
from directgp.models import ConstantMean, SparseGP
from directgp.models.sparse_gp import JITTER
from directgp.parameters import split_trainable, unwrap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 2))
Z = RNG.normal(size=(5, 2))
Z[0] = X[0]

KERNELS = {
    "rbf": lambda: RBF(1.4, [0.7, 1.9]),
    "matern52": lambda: Matern52(1.4, [0.7, 1.9]),
    "sum": lambda: RBF(1.4, 0.8) + Linear(0.3, 0.2),
}


def make(kernel="rbf", latents=1, mean_field=False, inducing=Z, spread=0.3):
    rng = np.random.default_rng(2)
    size = len(inducing)
    mean = rng.normal(size=(latents, size))
    if mean_field:
        scale = np.exp(spread * rng.normal(size=(latents, size)))
    else:
        scale = spread * np.tril(rng.normal(size=(latents, size, size)), -1) + 0.6 * np.eye(size)
    posterior = WhitenedGaussian.from_moments(jnp.asarray(mean), jnp.asarray(scale))
    prior_mean = ConstantMean(np.linspace(0.2, 0.8, latents))
    return SparseGP(KERNELS[kernel](), jnp.asarray(inducing), posterior, prior_mean)


def textbook_kernel(kernel, X, Z):
    """Distances by differences and autodiff throughout: none of the library's shortcuts."""
    if isinstance(kernel, (RBF, Matern52)):
        kernel = unwrap(kernel)
        squared = jnp.sum(((X[:, None] - Z[None]) / kernel.lengthscale) ** 2, axis=-1)
        if isinstance(kernel, RBF):
            return kernel.variance * jnp.exp(-0.5 * squared)
        r = jnp.sqrt(jnp.where(squared > 0, 5.0 * squared, 1.0))
        value = (1.0 + r + r**2 / 3.0) * jnp.exp(-r)
        return kernel.variance * jnp.where(squared > 0, value, 1.0)
    first, second = (unwrap(part) for part in kernel.parts)
    return textbook_kernel(first, X, Z) + second.variance * (X @ Z.T) + second.bias


def textbook(model, X):
    """μ = mean + k_xu K_uu⁻¹ u, v = k_xx + k_xu K_uu⁻¹ (V − K_uu) K_uu⁻¹ k_ux."""
    Z, (m, S) = unwrap(model.inducing), model.posterior.moments()
    K = textbook_kernel(model.kernel, Z, Z)
    K = K + JITTER * jnp.mean(jnp.diagonal(K)) * jnp.eye(len(Z))
    L, A = jnp.linalg.cholesky(K), jnp.linalg.solve(K, textbook_kernel(model.kernel, Z, X))
    prior = jax.vmap(lambda x: textbook_kernel(model.kernel, x[None], x[None])[0, 0])(X)
    means, variances = [], []
    for mean, scale in zip(m, S, strict=True):
        scale = jnp.diag(scale) if scale.ndim == 1 else scale
        V = L @ scale @ scale.T @ L.T
        means.append(A.T @ (L @ mean))
        variances.append(prior + jnp.sum(A * ((V - K) @ A), axis=0))
    offset = unwrap(model.mean_function.value)
    return jnp.stack(means, -1) + offset, jnp.stack(variances, -1)


def fast(model, X, precision="float64", form="auto"):
    marginals = model.condition(precision, form).marginals(X)
    return marginals.mean[0], marginals.variance[0]


def gradients(function, model, X):
    """Of a loss that uses every output, with respect to every number and to X."""
    learned, fixed = split_trainable(model)
    weights = np.random.default_rng(3).normal(size=(2, len(X), 3))

    def loss(learned, X):
        mean, variance = function(eqx.combine(learned, fixed), X)
        use = slice(0, mean.shape[1])
        return jnp.sum(weights[0][:, use] * mean) + jnp.sum(weights[1][:, use] * jnp.log(variance))

    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(learned, jnp.asarray(X))


CASES = [("rbf", 1, False), ("rbf", 3, True), ("matern52", 3, False), ("sum", 1, True)]


@pytest.mark.parametrize(("kernel", "latents", "mean_field"), CASES)
def test_every_form_is_the_textbook_formula_with_its_gradients(kernel, latents, mean_field):
    model = make(kernel, latents, mean_field)
    reference_value, reference = gradients(textbook, model, X)
    for form in ("projected", "whitened", *(() if mean_field else ("lifted",))):
        value, gradient = gradients(lambda m, x, form=form: fast(m, x, form=form), model, X)
        np.testing.assert_allclose(value, reference_value, rtol=1e-8)
        for left, right in zip(jax.tree.leaves(gradient), jax.tree.leaves(reference), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("mean_field", [False, True])
def test_the_rotated_form_predicts_the_same(mean_field):
    model = make("rbf", 3, mean_field)
    for precision, tolerance in (("float64", 1e-9), ("mixed", 1e-4)):
        both = jax.jit(lambda X, p=precision: (fast(model, X, p, "rotated"), textbook(model, X)))
        for left, right in zip(*both(jnp.asarray(X)), strict=True):
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mean_field", [False, True])
@pytest.mark.parametrize("precision", ["mixed", "fast"])
def test_mixed_precision_is_close(precision, mean_field):
    model = make("rbf", 1, mean_field)
    form = model.condition(precision).form
    assert form == ("lifted" if precision == "fast" and not mean_field else "whitened")
    value, gradient = gradients(fast, model, X)
    mixed_value, mixed = gradients(lambda m, x: fast(m, x, precision), model, X)
    np.testing.assert_allclose(mixed_value, value, rtol=1e-3)
    for left, right in zip(jax.tree.leaves(mixed), jax.tree.leaves(gradient), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-3 * np.abs(right).max())


def test_gradient_against_finite_differences():
    model = make("matern52", inducing=Z + 0.2)
    learned, fixed = split_trainable(model)
    flat, unflatten = ravel_pytree((learned, jnp.asarray(X)))

    def loss(flat):
        learned, inputs = unflatten(flat)
        mean, variance = fast(eqx.combine(learned, fixed), inputs)
        return jnp.sum(jnp.sin(mean)) + jnp.sum(jnp.log(variance))

    step = 1e-6
    shifts = step * jnp.eye(len(flat))
    numeric = jax.jit(jax.vmap(lambda s: (loss(flat + s) - loss(flat - s)) / (2 * step)))(shifts)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(flat), numeric, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("form", MOMENTS)
def test_predictions_do_not_depend_on_the_batch(form):
    conditioned = make("rbf", 2).condition(form=form)
    rows = np.random.default_rng(4).normal(size=(23, 2))
    together = conditioned.marginals(jnp.asarray(rows))
    order = np.random.default_rng(5).permutation(23)
    for chosen in ([7], order):
        part = conditioned.marginals(jnp.asarray(rows[chosen]))
        np.testing.assert_allclose(part.mean, together.mean[:, chosen], rtol=0, atol=1e-12)
        np.testing.assert_allclose(part.variance, together.variance[:, chosen], rtol=0, atol=1e-12)


@eqx.filter_jit
def _moments(kernel, Z, X, precision, spread):
    posterior = WhitenedGaussian(jnp.ones((1, len(Z))), spread * jnp.eye(len(Z))[None])
    return fast(SparseGP(kernel, Z, posterior), X, precision)


@settings(max_examples=40)
@given(
    kernel=st.sampled_from([RBF, Matern12]),
    precision=st.sampled_from(["float64", "mixed", "fast"]),
    log_variance=st.floats(-8, 8),
    log_lengthscale=st.floats(-6, 6),
    spread=st.sampled_from([1e-6, 1e-2, 1.0]),
    duplicates=st.booleans(),
    seed=st.integers(0, 100),
)
def test_variance_is_never_negative(
    kernel, precision, log_variance, log_lengthscale, spread, duplicates, seed
):
    with jax.enable_x64(True):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(6, 2))
        if duplicates:
            Z[3:] = Z[:3]
        X = jnp.asarray(np.concatenate([Z, rng.normal(size=(4, 2)), Z + 1e-9]))
        mean, variance = _moments(
            kernel(10.0**log_variance, 10.0**log_lengthscale),
            jnp.asarray(Z),
            X,
            precision,
            jnp.asarray(spread),
        )
    assert np.isfinite(mean).all()
    assert (np.asarray(variance) > 0).all()
    assert (np.asarray(variance) <= 10.0**log_variance * 1.01).all()


def test_the_prior_posterior_gives_the_prior():
    model = make()
    model = eqx.tree_at(lambda m: m.posterior, model, WhitenedGaussian.prior(5))
    mean, variance = fast(model, jnp.asarray(X))
    np.testing.assert_allclose(mean, np.full((9, 1), 0.2), atol=1e-12)
    np.testing.assert_allclose(variance, np.full((9, 1), 1.4), rtol=1e-9)


def test_an_unknown_precision_is_named():
    with pytest.raises(ValueError, match="one of 'float64', 'mixed', 'fast', got 'half'"):
        make().condition("half")
