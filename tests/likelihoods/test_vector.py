"""Vector-valued y: closed forms, robust losses and gradients against quadrature in d = 2 and 3."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from directgp.expectations import ClosedForm, GaussHermite, MonteCarlo, QuasiMonteCarlo
from directgp.likelihoods import Gaussian, GaussianVector, PoissonExp, ProductVector
from directgp.losses import BetaLoss, Direct, GammaLoss, Gibbs, Integrals, LogLoss
from directgp.marginals import Marginals

NOISE = {2: np.array([0.3, 0.8]), 3: np.array([0.3, 0.8, 0.5])}
MIXING = {
    2: np.array([[1.0, 0.4], [-0.7, 0.9]]),
    3: np.array([[1.0, 0.4], [-0.7, 0.9], [0.2, -1.1]]),
}
MEASURED = {
    2: np.array([[1, 1], [1, 1], [0, 1]], bool),
    3: np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0]], bool),
}


def problem(d, components=1):
    """Three rows of d outputs that mix two latent functions, some outputs not measured."""
    rng = np.random.default_rng(d)
    mean, variance = rng.normal(size=(components, 3, 2)), rng.uniform(0.2, 0.9, (components, 3, 2))
    weights = np.linspace(1.0, 2.0, components)
    q = Marginals(*map(jnp.asarray, (mean, variance, np.log(weights / weights.sum()))))
    likelihood = GaussianVector(*map(jnp.asarray, (NOISE[d], MIXING[d], MEASURED[d])))
    return likelihood, q, rng.normal(size=(3, d))


def joint_density(d, q, row):
    """The predictive density of the measured outputs of a row, as SciPy has it."""
    known = MEASURED[d][row]
    A, D = MIXING[d][known], np.diag(NOISE[d][known])
    parts = [
        multivariate_normal(A @ m, A @ np.diag(v) @ A.T + D)
        for m, v in zip(np.asarray(q.mean)[:, row], np.asarray(q.variance)[:, row], strict=True)
    ]
    weights = np.exp(np.asarray(q.log_weights))
    return lambda y: sum(w * part.pdf(y) for w, part in zip(weights, parts, strict=True))


def grid(d, reach=9.0, points=90):
    """Points and the volume of each for trapezoidal sums over d outputs."""
    line = np.linspace(-reach, reach, points)
    return np.array(list(itertools.product(line, repeat=d))), (line[1] - line[0]) ** d


def over_latents(q, row, function, points=60):
    """E_q[function(g)] by a product of Gauss–Hermite rules over both latent values."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    weights = weights / weights.sum()
    total = 0.0
    for s, share in enumerate(np.exp(np.asarray(q.log_weights))):
        m, v = np.asarray(q.mean)[s, row], np.asarray(q.variance)[s, row]
        for (a, wa), (b, wb) in itertools.product(zip(nodes, weights, strict=True), repeat=2):
            total += share * wa * wb * function(m + np.sqrt(v) * np.array([a, b]))
    return total


@eqx.filter_jit  # one program: operation by operation, each loss compiles a hundred
def loss_of(loss, likelihood, q, y, expectation=None, key=None):
    return loss(likelihood, Integrals(jnp.asarray(y), q, expectation or ClosedForm(), key))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("components", [1, 3])
def test_the_log_loss_is_that_of_the_joint_gaussian(d, components):
    likelihood, q, y = problem(d, components)
    got = loss_of(Direct(LogLoss()), likelihood, q, y)
    expected = [-np.log(joint_density(d, q, n)(y[n][MEASURED[d][n]])) for n in range(3)]
    np.testing.assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("score", [BetaLoss(1.3), GammaLoss(1.3)])
def test_gibbs_robust_losses_are_averages_over_latents(d, score):
    """`gvi` Theorem 1 for vectors: p(y | g)^c and ∫ p(y | g)^power dy, averaged over g."""
    likelihood, q, y = problem(d, 2)
    got = np.asarray(loss_of(Gibbs(score), likelihood, q, y))
    c = score.power - 1.0
    for n, known in enumerate(MEASURED[d]):
        A, noise = MIXING[d][known], NOISE[d][known]

        def density(y, g, A=A, noise=noise):
            return np.prod(np.exp(-0.5 * (y - A @ g) ** 2 / noise) / np.sqrt(2 * np.pi * noise))

        around = np.exp(-0.5 * score.power * np.linspace(-12, 12, 4001)[:, None] ** 2 / noise)
        around = around / np.sqrt(2 * np.pi * noise) ** score.power
        integral = np.prod(np.sum(around, axis=0) * 24 / 4000)  # the same for every g
        own = y[n][known]
        if isinstance(score, BetaLoss):
            power = over_latents(q, n, lambda g: density(own, g) ** c)  # noqa: B023
            expected = (1 - power) / c + (integral - 1) / score.power
        else:
            scale = integral ** (-c / score.power)
            mean = over_latents(q, n, lambda g: density(own, g) ** c)  # noqa: B023
            expected = score.power / c * (1 - mean * scale)
        np.testing.assert_allclose(got[n], expected, rtol=1e-7)


@pytest.mark.parametrize(("d", "tolerance"), [(2, 2e-4), (3, 2e-3)])
@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("score", [BetaLoss(1.3), GammaLoss(1.3)])
def test_direct_robust_losses_score_the_joint_density(d, tolerance, components, score):
    """∫ p̂(y)^power dy over all measured outputs, by a sum over a grid of them."""
    likelihood, q, y = problem(d, components)
    got = np.asarray(loss_of(Direct(score), likelihood, q, y))
    c = score.power - 1.0
    for n, known in enumerate(MEASURED[d]):
        density = joint_density(d, q, n)
        points, volume = grid(int(known.sum()), points=60 if known.sum() == 3 else 200)
        points = points[:, 0] if known.sum() == 1 else points
        integral = np.sum(density(points) ** score.power) * volume
        p = density(y[n][known])
        if isinstance(score, BetaLoss):
            expected = (1 - p**c) / c + (integral - 1) / score.power
        else:
            expected = score.power / c * (1 - p**c * integral ** (-c / score.power))
        exact = components == 1
        np.testing.assert_allclose(got[n], expected, rtol=1e-6 if exact else tolerance)


def test_a_power_of_almost_one_is_the_log_loss():
    likelihood, q, y = problem(3)
    plain = loss_of(Direct(LogLoss()), likelihood, q, y)
    for score in (BetaLoss(1.0 + 1e-6), GammaLoss(1.0 + 1e-6)):
        np.testing.assert_allclose(loss_of(Direct(score), likelihood, q, y), plain, rtol=1e-4)


def test_independent_outputs_have_the_sum_of_their_losses():
    """With A = I the outputs share nothing: the joint log loss is the sum of the marginal ones."""
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(1, 4, 3)), rng.uniform(0.1, 1.0, (1, 4, 3))
    y, noise = rng.normal(size=(4, 3)), np.array([0.2, 0.5, 1.0])
    measured = rng.random((4, 3)) < 0.7
    vector = GaussianVector(jnp.asarray(noise), jnp.eye(3), jnp.asarray(measured))
    q = Marginals(jnp.asarray(mean), jnp.asarray(variance), jnp.zeros(1))
    for loss in (Direct(LogLoss()), Gibbs(LogLoss())):
        alone = []
        for t in range(3):
            own = Marginals(q.mean[..., [t]], q.variance[..., [t]], q.log_weights)
            alone.append(np.asarray(loss_of(loss, Gaussian(noise[t]), own, y[:, t])))
        total = np.sum(np.where(measured, np.stack(alone, axis=1), 0.0), axis=1)
        np.testing.assert_allclose(loss_of(loss, vector, q, y), total, rtol=1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        Direct(LogLoss()),
        Gibbs(BetaLoss(1.2)),
        Gibbs(GammaLoss(1.2)),
        Direct(BetaLoss(1.2)),
        Direct(GammaLoss(1.2)),
    ],
)
def test_gradients_are_those_of_differences(loss):
    likelihood, q, y = problem(3, 2)

    def total(parts):
        mean, variance, log_weights, noise, mixing = parts
        own = GaussianVector(noise, mixing, likelihood.measured)
        return jnp.sum(loss_of(loss, own, Marginals(mean, variance, log_weights), y))

    parts = (q.mean, q.variance, q.log_weights, likelihood.noise, likelihood.mixing)
    gradient = jax.jit(jax.grad(total))(parts)
    value, step = jax.jit(total), 1e-5
    rng = np.random.default_rng(0)
    for which, part in enumerate(parts):
        direction = rng.normal(size=part.shape)
        ends = []
        for sign in (1, -1):
            moved = list(parts)
            moved[which] = part + sign * step * direction
            ends.append(float(value(tuple(moved))))
        slope = float(np.sum(np.asarray(gradient[which]) * direction))
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("loss", [Direct(LogLoss()), Gibbs(LogLoss()), Gibbs(GammaLoss(1.2))])
def test_points_give_what_the_closed_form_gives(loss):
    likelihood, q, y = problem(3, 2)
    exact = loss_of(loss, likelihood, q, y)
    quasi = loss_of(loss, likelihood, q, y, QuasiMonteCarlo())
    drawn = loss_of(loss, likelihood, q, y, MonteCarlo(20_000), jax.random.key(0))
    np.testing.assert_allclose(quasi, exact, rtol=5e-3)
    np.testing.assert_allclose(drawn, exact, rtol=3e-2)


def test_counts_of_a_row_share_their_latent_function():
    """One latent function: the joint mass is a one-dimensional integral of a product."""
    mixing, measured = np.array([[1.0], [0.5]]), np.array([[True, True], [True, False]])
    likelihood = ProductVector(PoissonExp(), jnp.asarray(mixing), jnp.asarray(measured))
    q = Marginals(jnp.full((1, 2, 1), 0.4), jnp.full((1, 2, 1), 0.3), jnp.zeros(1))
    y = np.array([[2.0, 1.0], [3.0, 0.0]])
    got = loss_of(Direct(LogLoss()), likelihood, q, y, GaussHermite(40))
    g = 0.4 + np.sqrt(0.3) * np.linspace(-9, 9, 20_001)
    weight = np.exp(-0.5 * ((g - 0.4) ** 2) / 0.3)
    weight /= weight.sum()
    rates = np.exp(g), np.exp(0.5 * g)
    both = np.exp(-rates[0]) * rates[0] ** 2 / 2 * np.exp(-rates[1]) * rates[1]
    first = np.exp(-rates[0]) * rates[0] ** 3 / 6
    np.testing.assert_allclose(got, -np.log([weight @ both, weight @ first]), rtol=1e-8)
    two = (jnp.repeat(part, 2, axis=0) for part in (q.mean, q.variance))
    mixture = Marginals(*two, jnp.log(jnp.full(2, 0.5)))
    for known in (q, mixture):
        with pytest.raises(ValueError, match="a direct robust loss is not known for the outputs"):
            loss_of(Direct(BetaLoss()), likelihood, known, y, GaussHermite(40))
