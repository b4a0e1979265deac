"""Noise that is added after training: where there is some that was learned."""

import equinox as eqx
import jax
import pytest

from directgp.likelihoods import Gaussian, Likelihood, likelihoods
from directgp.parameters import float64, frozen, lent, split_trainable, unwrap

DISPERSED = {
    "gaussian": lambda likelihood: likelihood.noise,
    "student-t": lambda likelihood: likelihood.scale,
    "negative-binomial": lambda likelihood: likelihood.dispersion,
}


def value(likelihood: Likelihood, name: str) -> float:
    return float(unwrap(DISPERSED[name](likelihood)))


@float64
@pytest.mark.parametrize("name", sorted(DISPERSED))
def test_the_amount_is_added_to_the_dispersion(name):
    likelihood = likelihoods.create(name)
    power = 2 if name == "student-t" else 1
    for amount in (0.0, 1e-6, 0.3):
        more = likelihood.with_more_noise(amount)
        assert type(more) is type(likelihood)
        expected = (value(likelihood, name) ** power + amount) ** (1 / power)
        assert value(more, name) == pytest.approx(expected, rel=1e-12)
        again = eqx.filter_jit(lambda amount: likelihood.with_more_noise(amount))(amount)
        assert value(again, name) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", sorted(DISPERSED))
@pytest.mark.parametrize("hold", [frozen, lent])
def test_noise_that_is_held_fixed_stays(name, hold):
    assert hold(likelihoods.create(name)).with_more_noise(0.1) is None


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "poisson"])
def test_classes_and_poisson_counts_have_none(name):
    assert likelihoods.create(name).with_more_noise(0.1) is None


@float64
def test_the_least_noise_is_kept_and_it_is_learned_on():
    more = Gaussian(2e-6).with_more_noise(1e-3)
    assert more is not None
    learned, fixed = split_trainable(more)
    assert len(jax.tree.leaves(learned)) == 1
    lowest = eqx.combine(jax.tree.map(lambda leaf: leaf - 1e3, learned), fixed)
    assert float(unwrap(lowest.noise)) == pytest.approx(1e-6)
