"""Compiled chunks of Adam steps: on rows in one place, or on rows spread over a team."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Float, PyTree

from directgp.distributed.base import AXIS, Team
from directgp.objective import Batch, Parts
from directgp.parameters import on_device
from directgp.training import adam
from directgp.training.compiling import compiled_quickly
from directgp.training.learning_rates import rate_factors

ObjectiveFunction = Callable[..., tuple[jax.Array, Parts]]
"""(model, likelihood, batch, *, beta, num_data, key) → (value, parts); see `Objective`."""


class Descent(NamedTuple):
    """Where a chunk starts and what it minimises; the rows come separately."""

    learned: PyTree
    moments: PyTree
    fixed: PyTree
    objective: ObjectiveFunction
    rates: Float[Array, "steps"]
    beta: Float[Array, "*L"]
    first_step: Array
    key: Array
    quick: float = 1.0
    """Factor of the learning rate of parts that are learned fast; see `rate_factors`."""


def _adam_steps(
    evaluate: Callable, learned: PyTree, moments: PyTree, rates, inputs: PyTree, quick: float
):
    """A scan: `evaluate(learned, index, input)` gives the per-row parts and their gradient."""
    factors = rate_factors(learned, quick)

    def step(carry, now):
        learned, moments = carry
        index, rate, own = now
        (total, parts), gradient = evaluate(learned, index, own)
        updates, moments = adam.update(gradient, moments)
        learned = jax.tree.map(
            lambda old, update, factor: old - factor * rate * update, learned, updates, factors
        )
        return (learned, moments), (total, parts.risk, parts.penalty)

    return lax.scan(step, (learned, moments), (jnp.arange(rates.shape[0]), rates, inputs))


def run_chunk(
    descent: Descent,
    data: Batch,
    rows: Any,
    num_data: Array | None = None,
    *,
    thorough: bool,
):
    """One compiled chunk: a scan over Adam steps. Returns the per-row parts of every step.

    `rows` [steps, batch] are the rows of `data` that every step sees, None means all of them.

    Args:
        descent: parameters, optimiser state and objective.
        data: all training rows.
        rows: the rows of each step, or None.
        num_data: the number of rows that the data stand for.
        thorough: whether XLA optimises the program for long runs.
    """
    program = _compiled_thoroughly if thorough else _compiled_quickly
    return program(*descent[:4], data, rows, *descent[4:], num_data)


def _chunk(
    learned, moments, fixed, objective, data, rows, rates, beta, first_step, key, quick, num_data
):
    if num_data is None:
        num_data = jnp.asarray(data.y.shape[0], jnp.float64)
    # Rows of weight 0 are padding: they do not count in averages.
    counted = jnp.sum(data.weight > 0).astype(jnp.float64)
    count = (num_data if rows is not None else counted) * _values_a_row(data, counted)

    def value(learned, batch, step_key):
        gp = eqx.combine(learned, fixed)
        total, parts = objective(
            gp.model, gp.likelihood, batch, beta=beta, num_data=num_data, key=step_key
        )
        return total / count, Parts(parts.risk / count, parts.penalty / count)

    def evaluate(learned, index, batch_rows):
        batch = data if rows is None else jax.tree.map(lambda column: column[batch_rows], data)
        step_key = jax.random.fold_in(key, first_step + index)
        return jax.value_and_grad(value, has_aux=True)(learned, batch, step_key)

    return _adam_steps(evaluate, learned, moments, rates, rows, quick)


def _values_a_row(data: Batch, counted: Array) -> Array | float:
    """How many measured values a row has on average: 1 unless there are several outputs."""
    if data.y.ndim == 1:
        return 1.0
    return jnp.sum(~jnp.isnan(data.y) & (data.weight > 0)[:, None]) / counted


_compiled_thoroughly = eqx.filter_jit(_chunk)
_compiled_quickly = compiled_quickly(_chunk)


class ShardedRows(NamedTuple):
    """The rows of a chunk, by step and shard: those of this process, or all, spread over a mesh."""

    batches: Any
    """X, y, weight: [steps, shards, rows, …]; rows of weight 0 fill up the smaller shards."""
    stand_for: Float[np.ndarray, "S"] | Float[Array, "S"]
    """How many rows of the table a batch of each shard stands for."""
    numbers: Any
    """Which shards these are."""


_SPREAD = ShardedRows(
    PartitionSpec(None, AXIS),  # pyright: ignore[reportArgumentType]
    PartitionSpec(AXIS),  # pyright: ignore[reportArgumentType]
    PartitionSpec(AXIS),
)


def run_sharded_chunk(descent: Descent, rows: ShardedRows, num_data: float, team: Team):
    """`run_chunk` on batches to which every shard contributes.

        objective(q) = Σ_shards (n_s / |batch_s|) Σ_i loss(y_i, q at x_i) + β divergence

    The sum over shards is the same whichever process computes its terms. Everyone ends with the
    leader's numbers, so that all that is decided by them is decided alike.

    Args:
        descent: parameters, optimiser state and objective.
        rows: of each step, from the shards of this process.
        num_data: the number of rows of all shards.
        team: the processes.
    """
    spread = jax.tree.map(
        lambda spec, part: jax.tree.map(partial(_spread, team, spec), part),
        _SPREAD,
        rows,
        is_leaf=lambda leaf: isinstance(leaf, PartitionSpec),
    )
    out = _run_spread(descent, spread, on_device(num_data, np.float64), team.mesh)
    # Everything outside works on this process's own copy.
    return jax.tree.map(lambda leaf: on_device(np.asarray(leaf)), out)


def _spread(team: Team, spec: PartitionSpec, local: np.ndarray) -> jax.Array:
    return jax.make_array_from_process_local_data(NamedSharding(team.mesh, spec), local)


@eqx.filter_jit
def _run_spread(descent: Descent, rows: ShardedRows, num_data: Array, mesh):
    arrays, static = eqx.partition(descent, eqx.is_array)

    def program(arrays, rows: ShardedRows, num_data):
        own = eqx.combine(arrays, static)
        # Each shard bears its part of the penalty, so that the sum over shards is the objective.
        beta = own.beta / (rows.stand_for.shape[0] * mesh.size)

        def value(learned, batch, stand_for, step_key):
            gp = eqx.combine(learned, own.fixed)
            total, parts = own.objective(
                gp.model, gp.likelihood, batch, beta=beta, num_data=stand_for, key=step_key
            )
            return total / num_data, Parts(parts.risk / num_data, parts.penalty / num_data)

        def evaluate(learned, index, batches):
            step_key = jax.random.fold_in(own.key, own.first_step + index)

            def of_shard(shard):
                columns, stand_for, number = shard
                batch, key = Batch(*columns), jax.random.fold_in(step_key, number)
                return jax.value_and_grad(value, has_aux=True)(learned, batch, stand_for, key)

            parts = lax.map(of_shard, (batches, rows.stand_for, rows.numbers))
            return lax.psum(jax.tree.map(lambda part: jnp.sum(part, axis=0), parts), AXIS)

        out = _adam_steps(evaluate, own.learned, own.moments, own.rates, rows.batches, own.quick)
        leads = lax.axis_index(AXIS) == 0
        return lax.psum(jax.tree.map(lambda x: jnp.where(leads, x, jnp.zeros_like(x)), out), AXIS)

    everywhere = PartitionSpec()
    spread = jax.shard_map(
        program,
        mesh=mesh,
        in_specs=(everywhere, _SPREAD, everywhere),
        out_specs=everywhere,
        check_vma=False,
    )
    return spread(arrays, rows, num_data)
