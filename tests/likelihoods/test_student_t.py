"""log E_q[p(y | f)] of Student-t noise: exact where plain quadrature over f misses the peak."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.expectations import ClosedForm, choose_expectation
from directgp.likelihoods import StudentT
from directgp.likelihoods.integrands import LogProb
from directgp.losses import Direct, LogLoss

CASES = [  # scale, df, y − μ, v
    (0.3, 4.0, 0.5, 1.0),
    (0.05, 4.0, 0.5, 1.0),
    (0.02, 4.0, 0.5, 1.0),
    (0.002, 1.2, 3.0, 4.0),
    (1.0, 4.0, 1000.0, 0.1),
    (0.5, 1.5, 1e5, 1.0),
    (0.5, 200.0, 6.0, 1e-6),
    (2.0, 3.0, 0.0, 1e-8),
]


@eqx.filter_jit
def log_evidence(likelihood, y, mean, variance):
    return ClosedForm().log_mean_exp(LogProb(likelihood), y, mean, variance, None)


@pytest.mark.parametrize("scale,df,distance,variance", CASES)
def test_it_is_the_predictive_density(scale, df, distance, variance):
    likelihood = StudentT(scale, df)
    mean, v = jnp.full((1, 1, 1), -distance), jnp.full((1, 1, 1), variance)
    found = log_evidence(likelihood, jnp.zeros(1), mean, v)
    exact = likelihood.predictive(np.asarray(mean), np.asarray(v), np.zeros(1)).log_prob([0.0])
    assert float(found[0, 0]) == pytest.approx(float(exact[0]), abs=1e-5)


def test_no_variance_gives_log_p_and_its_gradients_in_scale_and_df():
    y, mean, v = jnp.array([0.7, -30.0]), jnp.zeros((1, 2, 1)), jnp.full((1, 2, 1), 1e-14)

    def evidence(scale, df):
        likelihood = StudentT(scale, df)
        return float(np.sum(log_evidence(likelihood, y, mean, v)))

    def density(scale, df):
        return float(np.sum(log_density(StudentT(scale, df), y, mean[0])))

    log_density = eqx.filter_jit(lambda likelihood, y, f: likelihood.log_prob(y, f))

    here = (0.4, 3.0)
    assert evidence(*here) == pytest.approx(density(*here), abs=1e-8)
    step = 1e-5
    for k in range(2):
        up, down = (
            tuple(x + sign * step * (i == k) for i, x in enumerate(here)) for sign in (1, -1)
        )
        slope = (evidence(*up) - evidence(*down)) / (2 * step)
        assert slope == pytest.approx((density(*up) - density(*down)) / (2 * step), abs=1e-5)


def test_its_gradient_in_q_is_that_of_finite_differences():
    likelihood, y = StudentT(0.05, 4.0), jnp.array([0.5])

    @jax.jit
    def evidence(mean, variance):
        q = jnp.reshape(mean, (1, 1, 1)), jnp.reshape(variance, (1, 1, 1))
        return ClosedForm().log_mean_exp(LogProb(likelihood), y, *q, None)[0, 0]

    slopes = jax.jit(jax.grad(evidence, argnums=(0, 1)))(0.0, 1.0)
    numeric = (
        (evidence(1e-5, 1.0) - evidence(-1e-5, 1.0)) / 2e-5,
        (evidence(0.0, 1.0 + 1e-5) - evidence(0.0, 1.0 - 1e-5)) / 2e-5,
    )
    np.testing.assert_allclose(slopes, numeric, rtol=1e-5)


def test_direct_log_loss_uses_it():
    assert choose_expectation(Direct(LogLoss()).needs, StudentT()) == ClosedForm()
