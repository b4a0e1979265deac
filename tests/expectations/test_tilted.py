"""Draws from q(f) p(y | f) are exact, for every likelihood with one latent value."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from directgp.expectations import EnvelopeSampler, WideSampler
from directgp.expectations.envelopes import envelope_of
from directgp.expectations.pieces import Envelope
from directgp.likelihoods import BernoulliProbit, Categorical, PoissonExp, StudentT
from directgp.marginals import Marginals, single

_DRAWS = 3000


def _rows(case):
    return tuple(jnp.asarray([float(row[i]) for row in case.rows]) for i in range(3))


@eqx.filter_jit
def _draw(sampler, likelihood, y, marginals, samples, key):
    return sampler.draw(likelihood, y, marginals, samples, key)


def test_draws_follow_the_tilted_density_and_the_envelope_lies_above_it(case, exact):
    likelihood = case.likelihood()
    y, mean, deviation = _rows(case)
    references = [exact(likelihood, label, [m], [s**2]) for label, m, s in case.rows]
    q = single(mean[:, None], deviation[:, None] ** 2)
    draws = _draw(EnvelopeSampler(), likelihood, y, q, _DRAWS, jax.random.key(7))
    _assert_exact(draws, references)
    envelope = eqx.filter_jit(envelope_of)(likelihood, y, mean[None], deviation[None] ** 2)
    for i, reference in enumerate(references):
        _assert_above(Envelope(*(np.asarray(part[:, 0, i]) for part in envelope)), reference)
        least = 0.9 if likelihood.log_concave else 0.1
        assert reference.log_area - np.logaddexp.reduce(envelope.log_mass[:, 0, i]) > np.log(least)


def _assert_exact(draws, references):
    for i, reference in enumerate(references):
        assert kstest(reference.cdf(draws.f[:, i]), "uniform").pvalue > 1e-3, i


def _assert_above(piece, reference):
    change = piece.slope * (reference.grid[:, None] - piece.top)
    with np.errstate(divide="ignore"):
        inside = (change <= 1e-9) & (change >= np.log1p(piece.fall) - 1e-9)
    height = np.where(inside, piece.log_top + change, -np.inf).max(axis=1)
    log_density = reference.log_prob(reference.grid)
    assert np.all(height >= log_density - 1e-9 * (1.0 + np.abs(log_density)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["probit", pytest.param("student-t", marks=pytest.mark.slow)])
def test_draws_of_the_papers_sampler_follow_it_too(cases, name, exact):
    case = cases[name]
    likelihood = case.likelihood()
    y, mean, deviation = _rows(case)
    q = single(mean[:, None], deviation[:, None] ** 2)
    draws = _draw(WideSampler(rounds=10), likelihood, y, q, _DRAWS, jax.random.key(1))
    _assert_exact(draws, [exact(likelihood, label, [m], [s**2]) for label, m, s in case.rows])


@pytest.mark.parametrize(
    ("sampler", "likelihood", "y"),
    [
        (EnvelopeSampler(), PoissonExp(), 4.0),
        pytest.param(EnvelopeSampler(), StudentT(0.3, 3.0), 2.0, marks=pytest.mark.slow),
        (WideSampler(), BernoulliProbit(), 1.0),
    ],
)
def test_mixture_is_drawn_by_responsibility_then_component(sampler, likelihood, y, exact):
    means, variances, weights = [-2.0, 0.5, 3.0], [1.0, 0.2, 2.0], [0.6, 0.1, 0.3]
    q = Marginals(
        jnp.asarray(means)[:, None, None],
        jnp.asarray(variances)[:, None, None],
        jnp.log(jnp.asarray(weights)),
    )
    draws = _draw(sampler, likelihood, jnp.asarray([y]), q, 6000, jax.random.key(2))
    whole = exact(likelihood, y, means, variances, weights)
    assert kstest(whole.cdf(draws.f[:, 0]), "uniform").pvalue > 1e-3
    step = whole.grid[1] - whole.grid[0]
    parts = [exact(likelihood, y, [m], [v]) for m, v in zip(means, variances, strict=True)]
    areas = [np.exp(part.log_prob(whole.grid)).sum() * step for part in parts]
    responsibilities = np.multiply(weights, areas) / np.dot(weights, areas)
    for s, (part, share) in enumerate(zip(parts, responsibilities, strict=True)):
        own = np.asarray(draws.f[:, 0])[np.asarray(draws.component[:, 0]) == s]
        assert abs(len(own) / 6000 - share) < 5 * np.sqrt(share * (1 - share) / 6000) + 1e-3
        if len(own) > 50:
            assert kstest(part.cdf(own), "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_acceptance_is_reported_and_better_than_the_papers():
    y = jnp.asarray([0.0, 1.0, 5.0, 20.0] * 50)
    q = single(jnp.zeros((200, 1)), jnp.ones((200, 1)))
    key = jax.random.key(0)
    ours = _draw(EnvelopeSampler(), PoissonExp(), y, q, 10, key).acceptance
    papers = _draw(WideSampler(), PoissonExp(), y, q, 10, key).acceptance
    assert 0.9 < ours < 1.0
    assert 0.05 < papers < ours


def test_same_key_same_draws_and_one_compilation_for_any_values():
    traces = []

    @eqx.filter_jit
    def draw(likelihood, y, q, key):
        traces.append(1)
        return EnvelopeSampler().draw(likelihood, y, q, 5, key).f

    y = jnp.asarray([0.0, 3.0, 1000.0])
    first = draw(PoissonExp(), y, single(jnp.zeros((3, 1)), jnp.ones((3, 1))), jax.random.key(0))
    again = draw(PoissonExp(), y, single(jnp.zeros((3, 1)), jnp.ones((3, 1))), jax.random.key(0))
    other = draw(PoissonExp(), y, single(jnp.zeros((3, 1)), jnp.ones((3, 1))), jax.random.key(1))
    draw(
        PoissonExp(), y[::-1], single(9 * jnp.ones((3, 1)), 4 * jnp.ones((3, 1))), jax.random.key(2)
    )
    assert len(traces) == 1
    np.testing.assert_array_equal(first, again)
    assert not np.any(np.asarray(first) == np.asarray(other))


def test_several_latents_are_refused_by_name():
    q = single(jnp.zeros((2, 3)), jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="use MonteCarlo"):
        EnvelopeSampler().draw(Categorical(3), jnp.zeros(2), q, 5, jax.random.key(0))
