"""Square loss: the mean is that of the divergence asked for, the variance that of rows left out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import KL, FixedHyperparameters, PerLayer, Renyi, WeightedKL, fit, fit_outputs
from directgp.collapsed.any_model import Errors, best_scale_and_noise, with_variance, without_scale
from directgp.collapsed.calibration import calibrated
from directgp.divergences import WhitenedGaussian
from directgp.expectations import ClosedForm
from directgp.kernels import RBF
from directgp.likelihoods import Gaussian
from directgp.losses import Direct, SquareLoss
from directgp.models import DecoupledGP, SparseGP
from directgp.objective import Batch, Objective
from directgp.parameters import unwrap
from tests.flat import flat

SQUARE = Objective(Direct(SquareLoss()), KL(), ClosedForm())
QUICK = {"loss": "direct-square", "num_inducing": 8, "max_steps": 60, "precision": "float64"}


def waves(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, 1))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=rows)


@pytest.fixture(scope="module")
def elbo():
    X, y = waves()
    return fit(X, y, **flat(loss="elbo", beta=1.0, num_inducing=8, max_steps=60))


def means(elbo, **options):
    X, y = waves()
    quick = {name: value for name, value in QUICK.items() if name != "num_inducing"}
    fitted = fit(X, y, **flat(model=FixedHyperparameters(elbo), **(quick | options)))
    return fitted.predict(X[:5]).mean


def test_the_weight_of_the_divergence_is_that_of_beta(elbo):
    hundred = means(elbo, beta=100.0)
    np.testing.assert_allclose(means(elbo, beta=1.0, divergence=WeightedKL(0.01)), hundred)
    by_layer = PerLayer((WeightedKL(0.01),))
    np.testing.assert_allclose(means(elbo, beta=1.0, divergence=by_layer), hundred)
    assert np.abs(hundred - means(elbo, beta=1.0)).max() > 0.1


def test_another_divergence_keeps_the_mean_it_was_trained_for(elbo):
    """Under Renyi's divergence V widens along m, where T = τ > 1: as if β were β/τ."""
    renyi, kl = means(elbo, beta=10.0, max_steps=600, divergence=Renyi(0.5)), means(elbo, beta=10.0)
    assert np.abs(renyi - kl).max() > 0.1
    solved = [means(elbo, beta=10.0 / tau, max_steps=1) for tau in np.geomspace(1.0, 60.0, 30)]
    assert min(np.abs(renyi - other).max() for other in solved) < 0.02


def test_the_best_model_seen_on_held_out_rows_is_returned():
    X, y = waves(60)
    Xv, yv = waves(40, seed=1)
    fitted = fit(X, y, **flat(validation=(Xv, yv), beta=0.001, **QUICK))
    assert fitted.held_out is not None
    scaled = (yv - fitted.predict(Xv).mean) / float(fitted.targets.scale[0])
    np.testing.assert_allclose(0.5 * np.mean(scaled**2), np.mean(fitted.held_out), rtol=1e-6)
    np.testing.assert_allclose(np.mean(fitted.held_out), min(fitted.history["validation"]))


def sparse(X, size=6, mean_field=False):
    posterior = WhitenedGaussian.prior(size, 1, mean_field)
    return SparseGP(RBF(1.0, 0.8), jnp.linspace(-2, 2, size)[:, None], posterior)


def batch():
    X, y = waves(50)
    return Batch(jnp.asarray(X), jnp.asarray(y), jnp.asarray(np.tile([1.0, 2.0], 25)))


def moments(model, X):
    q = _marginals(model, X)
    return np.asarray(q.mean[0, :, 0]), np.asarray(q.variance[0, :, 0])


@eqx.filter_jit
def _marginals(model, X):
    return model.condition().marginals(X)


def test_for_one_sparse_gp_at_its_optimum_it_is_the_calibration_in_closed_form():
    data = batch()
    solved, noise = calibrated(sparse(data.X), data, jnp.asarray(0.3))
    again, own = with_variance(without_scale(solved), Gaussian(), SQUARE, data, None, 0.3)
    for one, other in zip(moments(again, data.X), moments(solved, data.X), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.1, atol=0.003)
    np.testing.assert_allclose(moments(again, data.X)[0], moments(solved, data.X)[0], rtol=1e-8)
    np.testing.assert_allclose(unwrap(own.noise), unwrap(noise.noise), rtol=0.2)


def test_leverages_are_those_of_refitting_without_a_row():
    """A decoupled GP: the mean at the optimum of both sets of inducing inputs, by least squares."""
    data = batch()
    extra = jnp.asarray(np.linspace(-1.9, 1.7, 4)[:, None])

    @jax.jit
    @jax.vmap
    def mean_at(weights):
        base = sparse(data.X)
        posterior = WhitenedGaussian.from_moments(weights[None, :6], jnp.eye(6)[None])
        base = SparseGP(base.kernel, base.inducing, posterior)
        model = DecoupledGP(base, extra, weights[None, 6:])
        return model.condition().marginals(data.X).mean[0, :, 0]

    J = np.asarray(mean_at(jnp.eye(10))).T
    y, w, beta = np.asarray(data.y), np.asarray(data.weight), 0.5

    def optimum(w):
        return np.linalg.solve(beta * np.eye(10) + (J.T * w) @ J, J.T @ (w * y))

    others = w * (1.0 - np.eye(50))
    left_out = np.array([y[i] - J[i] @ optimum(others[i]) for i in range(50)])
    m = jnp.asarray(optimum(w))
    base = sparse(data.X)
    posterior = WhitenedGaussian.from_moments(m[None, :6], jnp.eye(6)[None])
    model = DecoupledGP(SparseGP(base.kernel, base.inducing, posterior), extra, m[None, 6:])
    fitted, noise = with_variance(model, Gaussian(), SQUARE, data, None, beta)
    mean, variance = moments(fitted, data.X)
    np.testing.assert_allclose(mean, J @ m, rtol=1e-7, atol=1e-9)
    size = np.average(left_out**2, weights=w)
    total = np.average(variance, weights=w) + float(unwrap(noise.noise))
    assert 0.8 * size < total < 1.2 * size
    back = without_scale(fitted)
    np.testing.assert_allclose(moments(back, data.X)[0], J @ m, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(back.weights[0], m[6:], rtol=1e-9)


def test_scale_and_noise_are_those_that_made_the_errors():
    rng = np.random.default_rng(0)
    within, output = rng.uniform(0.1, 4.0, 20000), rng.integers(2, size=20000)
    noise = np.array([0.3, 2.0])
    between = np.full(20000, 0.1)
    error = np.sqrt(between + 0.5 * within + noise[output]) * rng.normal(size=20000)
    found = best_scale_and_noise(Errors(error, within, between, output, np.ones(20000)), 2)
    np.testing.assert_allclose(found[0], 0.5, rtol=0.25)
    np.testing.assert_allclose(found[1], noise, rtol=0.25)


STRUCTURES = {
    "decoupled": {"mean_inducing": 8},
    "two layers": {"layers": 2, "num_sites": 3},
    "network": {"features": "mlp", "feature_widths": (8, 2)},
    "outputs": {},
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_intervals_of_every_structure_hold_what_they_promise(kind):
    (X, y), (Xt, yt) = waves(150), waves(400, seed=1)
    options = flat(**(QUICK | {"beta": 0.1, "max_steps": 150} | STRUCTURES[kind]))
    if kind == "outputs":
        predicted = fit_outputs(X, np.stack([y, -3.0 * y], axis=1), **options).predict(Xt)
        pairs = list(zip(predicted, (yt, -3.0 * yt), strict=True))
    else:
        pairs = [(fit(X, y, **options).predict(Xt), yt)]
    for p, truth in pairs:
        inside = (p.quantile(0.05) < truth) & (truth < p.quantile(0.95))
        assert 0.8 < np.mean(inside) < 0.98
        error = np.sqrt(np.mean((p.mean - truth) ** 2))
        assert 0.7 * error < np.sqrt(np.mean(p.variance)) < 1.6 * error
