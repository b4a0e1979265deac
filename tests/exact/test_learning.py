"""Evidence by rows: that of the approximations in v, with the derivative in K; links in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.exact import FiniteGP, Target, ep, laplace, signed
from directgp.exact.ep_rows import propagate
from directgp.exact.learning import learn_kernel, row_approximations
from directgp.exact.links import LOGISTIC, PROBIT
from directgp.kernels import RBF
from directgp.likelihoods import BernoulliLogit, BernoulliProbit
from directgp.parameters import unwrap

LIKELIHOODS = {"probit": BernoulliProbit(), "logit": BernoulliLogit()}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=12) > 0).astype(float)


@eqx.filter_jit
def approximation(kernel, likelihood, X, y, method):
    target = Target(signed(FiniteGP(kernel, X).features(X).values, y), likelihood)
    return laplace(target) if method == "laplace" else ep(target).posterior


@pytest.mark.parametrize("link", LIKELIHOODS)
@pytest.mark.parametrize("method", ["laplace", "ep"])
def test_evidence_by_rows_is_that_of_the_approximation_with_its_derivative(rows, method, link):
    X, y = (jnp.asarray(part) for part in rows)
    likelihood, kernel = LIKELIHOODS[link], RBF(3.0, 0.8)
    q = approximation(kernel, likelihood, X, y, method)
    sign = 2.0 * np.asarray(y) - 1.0
    matrix = np.array(kernel.matrix(X, X)) * np.outer(sign, sign)
    evidence = row_approximations.create(method)
    found, state = evidence(matrix, likelihood, None)
    np.testing.assert_allclose(-found.value, q.log_evidence, atol=2e-7)
    assert evidence(matrix, likelihood, state).evidence.value == pytest.approx(found.value)
    change = np.random.default_rng(1).normal(size=matrix.shape)
    change, step = change @ change.T, 1e-5
    up, down = (
        evidence(matrix + side * step * change, likelihood, state).evidence.value
        for side in (1.0, -1.0)
    )
    slope = np.sum(found.cotangent * change)
    np.testing.assert_allclose((up - down) / (2 * step), slope, rtol=2e-4)


@pytest.mark.parametrize(("link", "name"), [(PROBIT, "probit"), (LOGISTIC, "logit")])
def test_derivatives_of_links_are_those_of_jax(link, name):
    z = np.linspace(-6.0, 6.0, 25)
    log_sigmoid = LIKELIHOODS[name].log_sigmoid
    first = jax.grad(log_sigmoid)
    second, third = jax.grad(first), jax.grad(jax.grad(first))

    @jax.jit
    def by_jax(z):
        return log_sigmoid(z), *(jax.vmap(part)(z) for part in (first, second, third))

    value, slope, curvature, change = by_jax(z)
    np.testing.assert_allclose(link.log(z), value)
    np.testing.assert_allclose(link.slope(z), slope, rtol=1e-9)
    np.testing.assert_allclose(-link.curvature(z), curvature, rtol=1e-7)
    np.testing.assert_allclose(link.third(z), change, rtol=1e-6, atol=1e-9)
    assert np.isfinite([part(np.array([-1e4, 1e4])) for part in link]).all()


def test_updates_that_oscillate_are_damped_until_they_rest():
    """Equal rows with both labels and a large variance: undamped updates overshoot."""
    sign = np.array([1.0, -1.0] * 20)
    sites = propagate(400.0 * np.outer(sign, sign) + 1e-3 * np.eye(40), BernoulliProbit())
    assert sites.converged and np.all(sites.precision >= 0)
    np.testing.assert_allclose(sites.shift[0], sites.shift[1], rtol=1e-4)


def test_learning_finds_which_input_matters(rows):
    X, y = rows
    learned = unwrap(learn_kernel(RBF(1.0, [1.0, 1.0]), X, y, BernoulliProbit(), "ep", 30))
    assert learned.lengthscale[0] < 0.5 * learned.lengthscale[1]
