"""When float32 is good enough for the [M N] work: judged on the data, refused when in doubt."""

import jax.numpy as jnp
import numpy as np

from directgp.divergences import WhitenedGaussian
from directgp.kernels import RBF
from directgp.likelihoods import Gaussian
from directgp.models import SparseGP
from directgp.objective import Batch
from directgp.training.loop import GP
from directgp.training.precision import mixed_is_safe, worth_mixing


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


def test_large_weights_and_little_noise_are_not():
    assert not mixed_is_safe(*problem(mean_size=1e4, noise=2e-6))


def test_non_finite_numbers_are_not():
    assert not mixed_is_safe(*problem(mean_size=np.nan))
    assert not mixed_is_safe(*problem(mean_size=1e300))


def test_it_pays_for_many_inducing_points_only():
    assert not worth_mixing(*problem(num_inducing=20))
    assert worth_mixing(*problem(num_inducing=300))
