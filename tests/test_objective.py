"""The equation: identities that hold between losses, expectations and the papers' formulas."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from directgp.divergences import KL, WhitenedGaussian
from directgp.expectations import ClosedForm, GaussHermite, MonteCarlo
from directgp.kernels import RBF
from directgp.likelihoods import Gaussian
from directgp.likelihoods.integrands import LogProb
from directgp.linalg.blocks import BLOCK
from directgp.losses import Direct, Gibbs, Integrals, LogLoss, SquareLoss, losses
from directgp.marginals import Marginals, single
from directgp.models import ConstantMean, SparseGP
from directgp.objective import Batch, Objective
from directgp.parameters import unwrap

NOISE = 0.3
ALL = {
    "elbo": Gibbs(LogLoss()),
    "direct-log": Direct(LogLoss()),
    "gibbs-square": Gibbs(SquareLoss()),
    "direct-square": Direct(SquareLoss()),
}


def make_mixture(S=3, N=8, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(S))
    mean, variance = rng.normal(size=(S, N, 1)), rng.uniform(0.05, 1.5, (S, N, 1))
    arrays = (mean, variance, np.log(weights))
    return Marginals(*(jnp.asarray(a) for a in arrays)), rng.normal(size=N), weights


def row_losses(loss, y, marginals, expectation=None, key=None, noise=NOISE):
    integrals = Integrals(jnp.asarray(y), marginals, expectation or ClosedForm(), key)
    return _row_losses(loss, Gaussian(noise), integrals)


@eqx.filter_jit
def _row_losses(loss, likelihood, integrals):
    return loss(likelihood, integrals)


def make_gp(seed=0, N=12, M=4):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, 2)), rng.normal(size=N)
    scale = np.tril(0.2 * rng.normal(size=(1, M, M)), -1) + 0.7 * np.eye(M)
    posterior = WhitenedGaussian.from_moments(
        jnp.asarray(rng.normal(size=(1, M))), jnp.asarray(scale)
    )
    model = SparseGP(RBF(1.2, 0.9), jnp.asarray(rng.normal(size=(M, 2))), posterior, ConstantMean())
    batch = Batch(jnp.asarray(X), jnp.asarray(y), jnp.asarray(rng.uniform(0.5, 2.0, N)))
    return model, Gaussian(NOISE), batch


def evaluate(loss, model, likelihood, batch, beta=1.0, num_data=None):
    count = jnp.asarray(float(num_data or batch.y.shape[0]))
    return _evaluate(
        Objective(loss, KL(), ClosedForm()), model, likelihood, batch, jnp.asarray(beta), count
    )


@eqx.filter_jit
def _evaluate(objective, model, likelihood, batch, beta, num_data):
    return objective(model, likelihood, batch, beta=beta, num_data=num_data, key=None)


# ---------------------------------------------------------------- losses


def test_every_named_loss_is_here():
    assert set(ALL) <= set(losses)
    for name, loss in ALL.items():
        assert losses.create(name) == loss


def test_losses_are_their_formulas_on_a_mixture():
    q, y, weights = make_mixture()
    mean, variance = np.asarray(q.mean)[..., 0], np.asarray(q.variance)[..., 0]
    log_density = norm(mean, np.sqrt(variance + NOISE)).logpdf(y)
    log_weights = np.log(weights)[:, None]
    expected = {
        "elbo": weights @ (-norm(mean, np.sqrt(NOISE)).logpdf(y) + variance / (2 * NOISE)),
        "direct-log": -logsumexp(log_density + log_weights, axis=0),
        "gibbs-square": weights @ (0.5 * ((y - mean) ** 2 + variance)),
        "direct-square": 0.5 * (y - weights @ mean) ** 2,
    }
    for name, loss in ALL.items():
        np.testing.assert_allclose(row_losses(loss, y, q), expected[name], rtol=1e-10)


def test_without_variance_gibbs_and_direct_are_the_score_of_the_mean():
    _, y, _ = make_mixture()
    mean = np.linspace(-2, 2, 8)
    q = single(jnp.asarray(mean)[:, None], jnp.full((8, 1), 1e-13))
    log = -norm(mean, np.sqrt(NOISE)).logpdf(y)
    square = 0.5 * (y - mean) ** 2
    for name, loss in ALL.items():
        expected = square if "square" in name else log
        np.testing.assert_allclose(row_losses(loss, y, q), expected, atol=1e-11)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([1e-4, 0.3, 50.0]))
def test_direct_is_never_above_gibbs(seed, noise):
    """Jensen, for every mixture and both scores."""
    with jax.enable_x64(True):
        q, y, _ = make_mixture(seed=seed)
        for score in (LogLoss(), SquareLoss()):
            direct = np.asarray(row_losses(Direct(score), y, q, noise=noise))
            gibbs = np.asarray(row_losses(Gibbs(score), y, q, noise=noise))
            assert (direct <= gibbs + 1e-9 * np.abs(gibbs)).all()


@pytest.mark.parametrize("name", ALL)
def test_a_mixture_of_equal_parts_is_one_part(name):
    q, y, _ = make_mixture(S=1)
    weights = np.log([0.2, 0.5, 0.3])
    repeated = Marginals(
        jnp.tile(q.mean, (3, 1, 1)), jnp.tile(q.variance, (3, 1, 1)), jnp.asarray(weights)
    )
    np.testing.assert_allclose(
        row_losses(ALL[name], y, repeated), row_losses(ALL[name], y, q), rtol=1e-12
    )


# ---------------------------------------------------------------- expectations


@pytest.mark.parametrize("name", ALL)
def test_closed_form_is_quadrature_is_sampling(name):
    q, y, _ = make_mixture()
    loss = ALL[name]
    likelihood, y = Gaussian(NOISE), jnp.asarray(y)

    @jax.jit
    def compute(keys):
        def by(expectation, key=None):
            return loss(likelihood, Integrals(y, q, expectation, key))

        sampled = jax.vmap(lambda key: by(MonteCarlo(2000), key))(keys)
        return by(ClosedForm()), by(GaussHermite(100)), sampled

    exact, quadrature, sampled = compute(jax.random.split(jax.random.key(0), 40))
    np.testing.assert_allclose(quadrature, exact, rtol=1e-5)
    error = np.std(sampled, axis=0) / np.sqrt(40)
    bias = 5e-3  # of order 1/L for the logarithm of an average (bMC) and for its square
    assert (np.abs(np.mean(sampled, axis=0) - np.asarray(exact)) < 4.5 * error + bias).all()


def test_few_quadrature_points_are_exact_for_polynomials():
    q, y, _ = make_mixture()
    for name in ("elbo", "gibbs-square", "direct-square"):
        np.testing.assert_allclose(
            row_losses(ALL[name], y, q, GaussHermite(2)), row_losses(ALL[name], y, q), rtol=1e-10
        )


# ---------------------------------------------------------------- the papers


@pytest.mark.parametrize("beta", [0.05, 1.0, 20.0])
def test_direct_log_loss_is_ppgpr(beta):
    """`dspp` PPGPR: −Σ log N(y_i | μ_i, v_i + σ²) + β KL."""
    model, likelihood, batch = make_gp()
    batch = Batch(batch.X, batch.y, jnp.ones_like(batch.y))
    marginals = model.condition().marginals(batch.X)
    spread = np.sqrt(np.asarray(marginals.variance[0, :, 0]) + NOISE)
    nll = -norm(np.asarray(marginals.mean[0, :, 0]), spread).logpdf(batch.y).sum()
    value, parts = evaluate(Direct(LogLoss()), model, likelihood, batch, beta)
    np.testing.assert_allclose(parts.risk, nll, rtol=1e-10)
    np.testing.assert_allclose(parts.penalty, beta * KL()(model.posterior), rtol=1e-12)
    np.testing.assert_allclose(value, parts.risk + parts.penalty, rtol=1e-14)


def aepep(alpha, model, batch):
    """−(1/α) Σ_i log E_q[p(y_i | f_i)^α] + KL(q ‖ p): approximate power EP (`dlm` section 5)."""
    marginals = model.condition().marginals(batch.X)
    likelihood = LogProb(Gaussian(NOISE))
    points = jnp.asarray(np.polynomial.hermite_e.hermegauss(100)[0])
    weights = np.polynomial.hermite_e.hermegauss(100)[1]
    f = marginals.mean[0] + jnp.sqrt(marginals.variance[0]) * points
    log_prob = likelihood(jnp.broadcast_to(batch.y[:, None], f.shape), f[..., None])
    log_weights = np.log(weights / weights.sum())
    energy = -logsumexp(alpha * np.asarray(log_prob) + log_weights, axis=1) / alpha
    return energy.sum() + float(KL()(model.posterior))


def test_power_ep_runs_from_the_elbo_to_direct_log_loss():
    model, likelihood, batch = make_gp()
    batch = Batch(batch.X, batch.y, jnp.ones_like(batch.y))
    direct, _ = evaluate(Direct(LogLoss()), model, likelihood, batch, 1.0)
    elbo, _ = evaluate(Gibbs(LogLoss()), model, likelihood, batch, 1.0)
    np.testing.assert_allclose(aepep(1.0, model, batch), direct, rtol=1e-7)
    np.testing.assert_allclose(aepep(1e-6, model, batch), elbo, rtol=1e-4)


def test_square_loss_is_the_formula_of_the_paper():
    """`dlm` section 2: ½Σ(k_iu K_uu⁻¹ m − y_i)² + (β/2) mᵀK_uu⁻¹m, up to KL's part in V."""
    model, likelihood, batch = make_gp()
    mean, _ = model.posterior.moments()
    model = eqx.tree_at(lambda m: m.posterior.scale, model, jnp.eye(4)[None])
    fitted = model.condition().marginals(batch.X).mean[0, :, 0]
    value, _ = evaluate(Direct(SquareLoss()), model, likelihood, batch, 0.7)
    risk = 0.5 * jnp.sum(batch.weight * (batch.y - fitted) ** 2)
    np.testing.assert_allclose(value, risk + 0.35 * jnp.sum(mean**2), rtol=1e-10)


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize("name", ALL)
def test_the_mean_over_mini_batches_is_the_full_batch(name):
    model, likelihood, batch = make_gp()
    full, _ = evaluate(ALL[name], model, likelihood, batch, 0.3)
    order = np.random.default_rng(1).permutation(12).reshape(3, 4)
    parts = [
        evaluate(
            ALL[name], model, likelihood, jax.tree.map(lambda c, r=rows: c[r], batch), 0.3, 12
        )[0]
        for rows in order
    ]
    np.testing.assert_allclose(np.mean(parts), full, rtol=1e-12)


def test_many_rows_are_summed_in_blocks_with_the_same_value_and_gradient():
    """Three copies of the rows, more than a block, against rows of three times the weight."""
    model, likelihood, few = make_gp(N=BLOCK // 2 + 5)
    many = jax.tree.map(lambda column: jnp.concatenate([column] * 3), few)
    heavy = Batch(few.X, few.y, 3.0 * few.weight)

    @eqx.filter_jit
    def value_and_gradient(batch):
        return eqx.filter_value_and_grad(
            lambda gp: evaluate(Direct(LogLoss()), *gp, batch, 2.0)[0]
        )((model, likelihood))

    for left, right in zip(
        jax.tree.leaves(value_and_gradient(many)),
        jax.tree.leaves(value_and_gradient(heavy)),
        strict=True,
    ):
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-8)


def test_a_row_without_weight_does_not_count():
    model, likelihood, batch = make_gp()
    weight = batch.weight.at[3].set(0.0)
    wild = Batch(batch.X, batch.y.at[3].set(1e6), weight)
    tame = Batch(batch.X, batch.y, weight)
    for loss in ALL.values():
        np.testing.assert_allclose(
            evaluate(loss, model, likelihood, wild)[0],
            evaluate(loss, model, likelihood, tame)[0],
            rtol=1e-12,
        )


def test_beta_may_be_one_number_or_one_a_layer():
    model, likelihood, batch = make_gp()
    single_beta, _ = evaluate(Direct(LogLoss()), model, likelihood, batch, 0.4)
    per_layer, _ = evaluate(Direct(LogLoss()), model, likelihood, batch, [0.4])
    assert float(single_beta) == float(per_layer)


@pytest.mark.parametrize("name", ALL)
def test_gradient_against_finite_differences(name):
    """Noise and posterior mean, through the loss."""
    model, likelihood, batch = make_gp()

    @jax.jit
    def value(noise_raw, mean):
        changed = eqx.tree_at(lambda m: m.posterior.mean, model, mean)
        noisy = eqx.tree_at(lambda lik: lik.noise, likelihood, jnp.exp(noise_raw))
        return evaluate(ALL[name], changed, noisy, batch, 0.3)[0]

    point = (jnp.log(unwrap(likelihood.noise)), model.posterior.mean)
    gradient = jax.grad(value, argnums=(0, 1))(*point)
    step = 1e-6
    numeric = (value(point[0] + step, point[1]) - value(point[0] - step, point[1])) / (2 * step)
    np.testing.assert_allclose(gradient[0], numeric, rtol=1e-6, atol=1e-7)
    direction = jnp.asarray(np.random.default_rng(2).normal(size=(1, 4)))
    numeric = (
        value(point[0], point[1] + step * direction) - value(point[0], point[1] - step * direction)
    ) / (2 * step)
    np.testing.assert_allclose(jnp.sum(gradient[1] * direction), numeric, rtol=1e-6)
