"""Collapsed forms against dense textbook formulas and against the uncollapsed objective."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.stats import multivariate_normal, norm

from directgp.collapsed import (
    FITC,
    CollapsedBound,
    CollapsedSquareLoss,
    optimal_posterior,
    optimal_posterior_streaming,
)
from directgp.divergences import KL, WhitenedGaussian
from directgp.expectations import ClosedForm
from directgp.kernels import RBF, Linear, Matern32, OnColumns
from directgp.likelihoods import Gaussian
from directgp.linalg.blocks import BLOCK
from directgp.losses import Direct, Gibbs, LogLoss, SquareLoss
from directgp.models import ConstantMean, Model, SparseGP, ZeroMean
from directgp.models.sparse_gp import JITTER
from directgp.objective import Batch, Objective
from directgp.parameters import split_trainable, unwrap
from directgp.training.loop import GP, Settings, run

ELBO = Objective(Gibbs(LogLoss()), KL(), ClosedForm())
SQUARE = Objective(Direct(SquareLoss()), KL(), ClosedForm())
COLLAPSED = [CollapsedBound(), FITC(), CollapsedSquareLoss()]


def make_data(n=40, weights=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n) + 0.7
    weight = rng.uniform(0.2, 2.0, n) if weights else np.ones(n)
    return Batch(jnp.asarray(X), jnp.asarray(y), jnp.asarray(weight))


def make_gp(M=7, noise=0.15, Z=None, kernel=None, mean=None, seed=1):
    rng = np.random.default_rng(seed)
    Z = jnp.asarray(rng.uniform(-2, 2, (M, 2)) if Z is None else Z)
    posterior = WhitenedGaussian.prior(len(Z))
    kernel = kernel or RBF(1.3, [0.8, 1.7])
    return SparseGP(kernel, Z, posterior, mean or ConstantMean(0.4)), Gaussian(noise)


def evaluate(objective, model, likelihood, batch, beta):
    value, parts = _evaluate(objective, model, likelihood, batch, jnp.asarray(beta))
    assert np.isclose(value, parts.risk + parts.penalty, rtol=1e-12)
    return value


@eqx.filter_jit
def _evaluate(objective, model, likelihood, batch, beta):
    num_data = jnp.asarray(float(batch.y.shape[0]))
    return objective(model, likelihood, batch, beta=beta, num_data=num_data, key=None)


@eqx.filter_jit
def value_and_gradient(gp, objective, batch, beta):
    return eqx.filter_value_and_grad(lambda gp: _evaluate(objective, *gp, batch, beta)[0])(gp)


def posterior_gradient(objective, posterior, model, likelihood, batch, beta):
    gp = (with_posterior(model, posterior), likelihood)
    value, (gradient, _) = value_and_gradient(gp, objective, batch, jnp.asarray(beta))
    return value, jax.tree.leaves(gradient.posterior)


def with_posterior(model, posterior):
    return eqx.tree_at(lambda m: m.posterior, model, posterior)


def dense(model, X):
    """K_uu with jitter, K_uf, diag K_ff, as plain numpy."""
    Z = np.asarray(unwrap(model.inducing))
    Kuu = np.array(model.kernel.matrix(jnp.asarray(Z), jnp.asarray(Z)))
    Kuu += JITTER * np.mean(np.diag(Kuu)) * np.eye(len(Z))
    return (
        Kuu,
        np.asarray(model.kernel.matrix(jnp.asarray(Z), X)),
        np.asarray(model.kernel.diagonal(X)),
    )


def dense_log_marginal(model, batch, noise_of_row, noise):
    """−log N(y | mean, Q_ff + diag(noise_of_row)) and Σ Var[f|u] / (2 noise)."""
    Kuu, Kuf, diagonal = dense(model, batch.X)
    Q = Kuf.T @ np.linalg.solve(Kuu, Kuf)
    left = diagonal - np.diag(Q)
    mean = np.asarray(model.mean_function(batch.X))[:, 0]
    covariance = Q + np.diag(noise_of_row(left))
    nll = -multivariate_normal(mean, covariance).logpdf(np.asarray(batch.y))
    return nll, np.sum(left) / (2 * noise)


# ---------------------------------------------------------------- the bound


@pytest.mark.parametrize("beta", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("weights", [False, True])
def test_bound_is_the_uncollapsed_objective_at_the_optimal_posterior(beta, weights):
    batch, (model, likelihood) = make_data(weights=weights), make_gp()
    best = optimal_posterior(model, likelihood, batch, beta=beta)
    bound = evaluate(CollapsedBound(), model, likelihood, batch, beta)
    at_best = evaluate(ELBO, with_posterior(model, best), likelihood, batch, beta)
    np.testing.assert_allclose(bound, at_best, rtol=1e-10)

    rng = np.random.default_rng(3)
    mean, scale = best.moments()
    for size in (1e-3, 0.1, 1.0):
        other = WhitenedGaussian.from_moments(
            mean + size * rng.normal(size=mean.shape),
            jnp.tril(scale * jnp.exp(size * rng.normal(size=scale.shape))),
        )
        value = evaluate(ELBO, with_posterior(model, other), likelihood, batch, beta)
        assert value > bound

    for leaf in posterior_gradient(ELBO, best, model, likelihood, batch, beta)[1]:
        np.testing.assert_allclose(leaf, 0.0, atol=1e-7)


@pytest.mark.parametrize("beta", [0.1, 1.0, 10.0])
def test_bound_is_titsias_bound_with_scaled_noise(beta):
    batch, (model, likelihood) = make_data(), make_gp(noise=0.15)
    n, noise = batch.y.shape[0], 0.15
    nll, trace = dense_log_marginal(
        model, batch, lambda left: np.full_like(left, beta * noise), beta * noise
    )
    constants = 0.5 * n * np.log(2 * np.pi * noise)
    constants -= 0.5 * beta * n * np.log(2 * np.pi * beta * noise)
    value = evaluate(CollapsedBound(), model, likelihood, batch, beta)
    np.testing.assert_allclose(value, beta * (nll + trace) + constants, rtol=1e-8)


@pytest.mark.parametrize("collapsed", [CollapsedBound(), FITC()])
def test_all_rows_as_inducing_inputs_give_the_exact_marginal_likelihood(collapsed):
    mean = ConstantMean(0.4)
    batch = make_data(25)
    model, likelihood = make_gp(Z=batch.X, kernel=Matern32(1.3, [0.8, 1.7]), mean=mean)
    covariance = np.array(model.kernel.matrix(batch.X, batch.X)) + 0.15 * np.eye(25)
    prior_mean = np.asarray(mean(batch.X))[:, 0]
    exact = -multivariate_normal(prior_mean, covariance).logpdf(np.asarray(batch.y))
    value = evaluate(collapsed, model, likelihood, batch, 1.0)
    # K_uu carries a relative jitter of 1e-6, the exact model does not.
    np.testing.assert_allclose(value, exact, rtol=2e-5)


def test_fitc_is_the_marginal_likelihood_of_its_model():
    batch, (model, likelihood) = make_data(), make_gp(noise=0.15)
    nll, _ = dense_log_marginal(model, batch, lambda left: left + 0.15, 0.15)
    np.testing.assert_allclose(evaluate(FITC(), model, likelihood, batch, 1.0), nll, rtol=1e-8)


def test_fitc_predicts_by_the_textbook_formulas():
    """Snelson and Ghahramani (2006), eq. 9."""
    batch, (model, likelihood) = make_data(), make_gp(mean=ZeroMean())
    X_new = jnp.asarray(np.random.default_rng(5).uniform(-3, 3, (11, 2)))
    Kuu, Kuf, diagonal = dense(model, batch.X)
    _, Kus, diagonal_new = dense(model, X_new)
    left = diagonal - np.sum(Kuf * np.linalg.solve(Kuu, Kuf), axis=0)
    inverse_noise = 1.0 / (left + 0.15)
    Q = Kuu + (Kuf * inverse_noise) @ Kuf.T
    mean = Kus.T @ np.linalg.solve(Q, Kuf @ (inverse_noise * np.asarray(batch.y)))
    variance = diagonal_new - np.sum(
        Kus * (np.linalg.solve(Kuu, Kus) - np.linalg.solve(Q, Kus)), axis=0
    )
    finished, _ = FITC().finish(model, likelihood, batch, beta=1.0)
    marginals = finished.condition().marginals(X_new)
    np.testing.assert_allclose(marginals.mean[0, :, 0], mean, atol=1e-8)
    np.testing.assert_allclose(marginals.variance[0, :, 0], variance, atol=1e-8)


def test_mean_field_optimum_has_no_gradient():
    batch, (model, likelihood) = make_data(), make_gp()
    best = optimal_posterior(model, likelihood, batch, beta=2.0, mean_field=True)
    assert best.moments()[1].shape == (1, 7)
    for leaf in posterior_gradient(ELBO, best, model, likelihood, batch, 2.0)[1]:
        np.testing.assert_allclose(leaf, 0.0, atol=1e-7)


# ---------------------------------------------------------------- square loss


@pytest.mark.parametrize("beta", [0.01, 1.0, 50.0])
def test_square_loss_mean_has_no_gradient_and_the_least_value(beta):
    batch, (model, likelihood) = make_data(weights=True), make_gp()
    finished, _ = CollapsedSquareLoss().finish(model, likelihood, batch, beta=beta)
    # The calibrated kernel is c·k, so the same mean in the basis of k is √c times as large.
    size = jnp.sqrt(unwrap(finished.kernel.variance))
    mean = size * finished.posterior.mean
    best = WhitenedGaussian(mean, WhitenedGaussian.prior(7).scale)
    value, gradient = posterior_gradient(SQUARE, best, model, likelihood, batch, beta)
    for leaf in gradient:
        np.testing.assert_allclose(leaf, 0.0, atol=1e-8)
    collapsed = evaluate(CollapsedSquareLoss(), model, likelihood, batch, beta)
    np.testing.assert_allclose(collapsed, value, rtol=1e-12)


def test_square_loss_value_is_the_formula_of_the_paper():
    batch, (model, likelihood) = make_data(), make_gp(mean=ZeroMean())
    Kuu, Kuf, _ = dense(model, batch.X)
    y, beta = np.asarray(batch.y), 0.7
    m = Kuu @ np.linalg.solve(Kuf @ Kuf.T + beta * Kuu, Kuf @ y)
    fitted = Kuf.T @ np.linalg.solve(Kuu, m)
    value = 0.5 * np.sum((y - fitted) ** 2) + 0.5 * beta * m @ np.linalg.solve(Kuu, m)
    collapsed = evaluate(CollapsedSquareLoss(), model, likelihood, batch, beta)
    np.testing.assert_allclose(collapsed, value, rtol=1e-8)
    finished, _ = CollapsedSquareLoss().finish(model, likelihood, batch, beta=beta)
    predicted = finished.condition().marginals(batch.X).mean[0, :, 0]
    np.testing.assert_allclose(predicted, fitted, atol=1e-7)


def test_square_loss_calibration_is_leave_one_out_by_refitting():
    """Its scale and noise score best among others when rows really are left out."""
    batch, beta = make_data(30), 0.3
    model, likelihood = make_gp(M=9, mean=ZeroMean())
    finished, fitted_noise = CollapsedSquareLoss().finish(model, likelihood, batch, beta=beta)
    size, noise = float(unwrap(finished.kernel.variance)), float(unwrap(fitted_noise.noise))
    Kuu, Kuf, diagonal = dense(model, batch.X)
    y = np.asarray(batch.y)
    errors, variances = np.empty(30), np.empty(30)
    for i in range(30):
        keep = np.arange(30) != i
        inner = Kuf[:, keep] @ Kuf[:, keep].T + beta * Kuu
        errors[i] = y[i] - Kuf[:, i] @ np.linalg.solve(inner, Kuf[:, keep] @ y[keep])
        variances[i] = (
            diagonal[i]
            - Kuf[:, i] @ np.linalg.solve(Kuu, Kuf[:, i])
            + beta * Kuf[:, i] @ np.linalg.solve(inner, Kuf[:, i])
        )

    def score(size, noise):
        return -np.mean(norm(0.0, np.sqrt(size * variances + noise)).logpdf(errors))

    chosen = score(size, noise)
    for factor in (0.5, 0.8, 1.25, 2.0):
        assert score(size * factor, noise) > chosen - 1e-3  # the grid of ρ has finite steps
        assert score(size, noise * factor) > chosen - 1e-3
        assert score(size * factor, noise * factor) > chosen


@pytest.mark.parametrize("variance", [1e-3, 1.0, 1e4])
def test_square_loss_predictions_are_calibrated_on_new_rows(variance):
    """Whatever the meaningless kernel variance is, the errors' size is right."""
    train, new = make_data(400), make_data(400, seed=9)
    model, likelihood = make_gp(M=25, kernel=RBF(variance, [1.0, 1.5]), mean=ZeroMean())
    finished, noise = CollapsedSquareLoss().finish(model, likelihood, train, beta=0.1 * variance)
    marginals = finished.condition().marginals(new.X)
    spread = np.sqrt(np.asarray(marginals.variance[0, :, 0]) + float(unwrap(noise.noise)))
    z = (np.asarray(new.y) - np.asarray(marginals.mean[0, :, 0])) / spread
    assert 0.85 < np.std(z) < 1.15


def test_square_loss_survives_a_perfect_fit():
    batch, (model, likelihood) = make_data(), make_gp(mean=ZeroMean())
    batch = Batch(batch.X, jnp.zeros_like(batch.y), batch.weight)
    finished, noise = CollapsedSquareLoss().finish(model, likelihood, batch, beta=1.0)
    leaves = jax.tree.leaves(eqx.filter((finished, noise), eqx.is_inexact_array))
    assert all(np.isfinite(leaf).all() for leaf in leaves)


# ---------------------------------------------------------------- as objectives


@pytest.mark.parametrize("collapsed", COLLAPSED, ids=lambda c: type(c).__name__)
def test_gradients_against_finite_differences(collapsed):
    batch = make_data(30, weights=True)
    kernel = RBF(1.3, [0.8, 1.7]) + OnColumns(Linear(0.4, 0.2), (1,))
    model, likelihood = make_gp(M=4, kernel=kernel)
    learned, fixed = split_trainable((model, likelihood))
    flat, unflatten = ravel_pytree(learned)
    step = 1e-5

    @jax.jit
    def both(beta):
        def value(flat):
            return _evaluate(collapsed, *eqx.combine(unflatten(flat), fixed), batch, beta)[0]

        shifts = step * jnp.eye(len(flat))
        numeric = jax.lax.map(lambda s: value(flat + s) - value(flat - s), shifts) / (2 * step)
        return jax.grad(value)(flat), numeric

    for beta in (0.1, 1.0):
        gradient, numeric = both(jnp.asarray(beta))
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


def test_many_rows_go_in_blocks_with_the_same_result():
    """More than BLOCK rows, against the same rows in one piece: weights make copies."""
    few = make_data(BLOCK // 2 + 3)
    thrice = jax.tree.map(lambda column: jnp.concatenate([column] * 3), few)
    heavy = Batch(few.X, few.y, 3.0 * few.weight)
    results = [value_and_gradient(make_gp(), FITC(), b, jnp.asarray(1.0)) for b in (thrice, heavy)]
    for blocked, whole in zip(*map(jax.tree.leaves, results), strict=True):
        np.testing.assert_allclose(blocked, whole, rtol=1e-7, atol=1e-7)


def test_streaming_and_blocked_posteriors_are_the_same():
    batch, (model, likelihood) = make_data(BLOCK + 17, weights=True), make_gp()
    whole = optimal_posterior(model, likelihood, batch, beta=0.5).moments()
    streamed = optimal_posterior_streaming(
        model,
        likelihood,
        np.asarray(batch.X),
        np.asarray(batch.y),
        np.asarray(batch.weight),
        beta=0.5,
        block=1000,
    ).moments()
    for left, right in zip(whole, streamed, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-9)


@pytest.mark.parametrize("collapsed", [CollapsedBound(), CollapsedSquareLoss()])
def test_the_training_loop_trains_hyperparameters(collapsed):
    batch, (model, likelihood) = make_data(80), make_gp(kernel=RBF(0.3, [3.0, 3.0]))
    trained = run(
        GP(model, likelihood),
        collapsed,
        batch,
        Settings(steps=40, batch_size=None, chunk=20),
        beta=1.0,
    )
    before = evaluate(collapsed, model, likelihood, batch, 1.0)
    after = evaluate(collapsed, *trained.gp, batch, 1.0)
    assert after < before - 1.0
    finished, _ = collapsed.finish(*trained.gp, batch, beta=1.0)
    prediction = finished.condition().marginals(batch.X).mean[0, :, 0]
    assert np.var(batch.y - prediction) < 0.5 * np.var(batch.y)


class Unknown(Model):
    def condition(self, precision="float64"):
        raise AssertionError("a model of another kind is refused before it is asked anything")

    @property
    def posteriors(self):
        return ()


def test_other_parts_are_refused_in_one_line():
    with pytest.raises(TypeError, match="needs a SparseGP and a Gaussian likelihood, got Unknown"):
        evaluate(CollapsedBound(), Unknown(), Gaussian(), make_data(5), 1.0)
