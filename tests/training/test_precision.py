"""When float32 is good enough for the [M N] work: judged on the data, refused when in doubt."""

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.divergences import WhitenedGaussian
from directgp.kernels import RBF
from directgp.likelihoods import (
    BernoulliProbit,
    Categorical,
    Gaussian,
    GaussianOutputs,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
)
from directgp.models import DecoupledGP, MultiOutput, SparseGP, deep_gp
from directgp.objective import Batch
from directgp.training import precision
from directgp.training.loop import GP
from directgp.training.precision import is_exact_enough, ladder, worth_mixing


def mixed_is_safe(gp, data, precision="mixed"):
    return is_exact_enough(gp, data, precision)


def problem(mean_size=1.0, noise=0.1, num_inducing=20):
    Z = np.linspace(-2, 2, num_inducing)[:, None]
    rng = np.random.default_rng(0)
    posterior = WhitenedGaussian.from_moments(
        jnp.asarray(mean_size * rng.normal(size=(1, num_inducing))),
        0.1 * jnp.eye(num_inducing)[None],
    )
    X = jnp.asarray(rng.uniform(-2, 2, size=(50, 1)))
    model = SparseGP(RBF(lengthscale=[1.0]), jnp.asarray(Z), posterior)
    return GP(model, Gaussian(noise)), Batch(X, jnp.zeros(50), jnp.ones(50))


def test_a_tame_model_is_safe():
    assert mixed_is_safe(*problem())


def test_what_is_certain_does_not_count():
    """The number of an output travels as a latent value without variance or noise."""
    gp, data = problem()
    outputs = MultiOutput(gp.model, jnp.asarray([[1.0], [0.5]]), jnp.zeros(2), with_number=True)
    numbered = jnp.concatenate([data.X, (jnp.arange(50) % 2)[:, None]], axis=1)
    rows = Batch(numbered, data.y, data.weight)
    assert mixed_is_safe(GP(outputs, GaussianOutputs(2, 0.1)), rows)


def test_large_weights_and_little_noise_are_not():
    assert not mixed_is_safe(*problem(mean_size=1e4, noise=2e-6))


def test_the_fast_form_is_left_before_the_mixed_one():
    """q(u) is wide where the data say nothing and certain elsewhere, as direct loss makes it."""
    Z = np.linspace(-2, 2, 20)[:, None]
    scale = np.diag(np.where(np.arange(20) > 8, 40.0, 1e-3))
    posterior = WhitenedGaussian.from_moments(jnp.zeros((1, 20)), jnp.asarray(scale)[None])
    gp = GP(SparseGP(RBF(lengthscale=[1.0]), jnp.asarray(Z), posterior), Gaussian(1e-4))
    _, data = problem()
    assert mixed_is_safe(gp, data, "mixed")
    assert not mixed_is_safe(gp, data, "fast")
    noisy = gp._replace(likelihood=Gaussian(1.0))
    assert mixed_is_safe(noisy, data, "fast")


def test_the_ladder_has_a_fast_form_for_long_fits_of_a_full_covariance_only():
    gp, _ = problem()
    assert ladder(gp, long=True) == ("fast", "mixed", "float64")
    assert ladder(gp, long=False) == ("mixed", "float64")
    model = SparseGP(RBF(), jnp.zeros((3, 1)), WhitenedGaussian.prior(3, 1, mean_field=True))
    assert ladder(GP(model, Gaussian()), long=True) == ("mixed", "float64")


def test_non_finite_numbers_are_not():
    assert not mixed_is_safe(*problem(mean_size=np.nan))
    assert not mixed_is_safe(*problem(mean_size=1e300))


def test_noise_without_a_variance_is_no_excuse():
    """Of Student-t noise with df ≤ 2 everything is within 5 % of an infinite spread."""
    gp, data = problem(mean_size=1e4)
    assert not mixed_is_safe(gp._replace(likelihood=StudentT(2e-3, df=1.5)), data)


@pytest.mark.parametrize(
    ("likelihood", "f", "noise"),
    [
        (Gaussian(0.3), [5.0], [0.3]),
        (GaussianOutputs(2, 0.2), [5.0, 1.0], [0.2, 0.0]),
        (StudentT(0.5, 1.5), [5.0], [0.25 * 4.5 / 2.5]),
        (PoissonExp(), [np.log(1e4)], [1e-4]),  # 1 % of the rate, whatever the count's unit
        (PoissonExp(), [-3.0], [1.0]),
        (PoissonSoftplus(), [0.0], [1.0]),
        (BernoulliProbit(), [40.0], [1.0]),
        (Categorical(3), [9.0, 0.0, -2.0], [1.0, 1.0, 1.0]),
    ],
    ids=["gaussian", "outputs", "student", "many", "few", "softplus", "sure", "classes"],
)
def test_noise_is_told_in_units_of_f(likelihood, f, noise):
    np.testing.assert_allclose(likelihood.latent_noise(jnp.asarray(f)), noise, rtol=1e-5)


def test_rows_are_probed_from_one_end_to_the_other(monkeypatch):
    seen = []
    monkeypatch.setattr(precision, "_agrees", lambda gp, X, precision: bool(seen.append(X)))
    gp, _ = problem()
    for count in (50, 1000):
        X = jnp.arange(float(count))[:, None]
        mixed_is_safe(gp, Batch(X, X[:, 0], jnp.ones(count)))
    assert np.array_equal(seen[0][:, 0], np.arange(50.0))
    assert seen[1].shape == (256, 1) and seen[1][0] == 0.0 and seen[1][-1] == 999.0
    assert np.ptp(np.diff(seen[1][:, 0])) <= 1.0


def test_it_pays_for_many_inducing_points_only():
    (few, noise), (many, _) = (problem(num_inducing=size)[0] for size in (60, 100))
    assert not worth_mixing(GP(few, noise)) and worth_mixing(GP(many, noise))
    assert worth_mixing(GP(deep_gp((few, few)), noise))
    more_for_the_mean = DecoupledGP(few, jnp.zeros((5, 1)), jnp.zeros((1, 5)))
    assert not worth_mixing(GP(more_for_the_mean, noise))  # two posteriors, one layer
