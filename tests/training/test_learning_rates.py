"""Which parts of a model move faster than the rest."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from directgp.divergences import WhitenedGaussian
from directgp.kernels import RBF
from directgp.likelihoods import Gaussian
from directgp.models import SparseGP, deep_gp
from directgp.objective import Batch, Parts
from directgp.parameters import part, split_trainable
from directgp.training.learning_rates import rate_factors
from directgp.training.loop import GP, Settings, run


def sparse():
    return SparseGP(RBF(1.0, [1.0, 2.0]), jnp.zeros((3, 2)), WhitenedGaussian.prior(3))


def test_kernel_and_mean_of_a_sparse_gp_are_quick_and_nothing_else_is():
    learned, _ = split_trainable(GP(sparse(), Gaussian(0.1)))
    given = rate_factors(learned, 3.0)
    assert jax.tree.structure(given) == jax.tree.structure(learned)
    assert jax.tree.leaves(given.model.kernel) == [3.0, 3.0]
    assert given.model.posterior.mean == 3.0
    rest = (given.model.posterior.scale, given.model.inducing, given.likelihood)
    assert jax.tree.leaves(rest) == [1.0, 1.0, 1.0]


def test_parts_say_it_and_their_names_do_not():
    class Declared(eqx.Module):
        slow: jax.Array
        fast: tuple = part(rate="fast")
        whole: WhitenedGaussian = part(rate="by part")
        kernel: jax.Array = part()

    class Holder(eqx.Module):
        inside: dict = part(rate="by part")
        undeclared: Declared

    one = jnp.ones(2)
    own = Declared(one, (one, [one]), WhitenedGaussian(one[None], one[None]), one)
    given = rate_factors(Holder({"a": own}, own), 2.0)
    assert jax.tree.leaves(given.inside["a"]) == [1.0, 2.0, 2.0, 2.0, 1.0, 1.0]
    assert set(jax.tree.leaves(given.undeclared)) == {1.0}


def test_deep_models_move_evenly():
    model = deep_gp(
        (sparse(), SparseGP(RBF(), jnp.zeros((3, 1)), WhitenedGaussian.prior(3))), samples=2
    )
    learned, _ = split_trainable(GP(model, Gaussian(0.1)))
    assert set(jax.tree.leaves(rate_factors(learned, 3.0))) == {1.0}


def test_a_first_step_moves_each_part_by_its_pace():
    """Adam's first step is the rate in size, whatever the gradient."""
    start = GP(sparse(), Gaussian(0.1))
    learned, _ = split_trainable(start)

    def objective(model, likelihood, batch, *, beta, num_data, key):
        numbers = jax.tree.leaves(eqx.filter((model, likelihood), eqx.is_inexact_array))
        value = num_data * sum(jnp.sum(part) for part in numbers)
        return value, Parts(value, jnp.zeros(()))

    rows = Batch(jnp.ones((2, 2)), jnp.ones(2), jnp.ones(2))
    settings = Settings(
        steps=1, batch_size=None, learning_rate=0.01, quick=3.0, decay=False, chunk=1
    )
    moved, _ = split_trainable(run(start, objective, rows, settings, beta=1.0).gp)
    for before, after, factor in zip(
        *map(jax.tree.leaves, (learned, moved, rate_factors(learned, 3.0))), strict=True
    ):
        np.testing.assert_allclose(before - after, 0.01 * factor, rtol=1e-5)
