"""Whole rows in a batch: the same numbers as rows of one output each, at the cost of one pass."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import Deep, Sparse, Training, fit_outputs
from directgp.divergences import KL
from directgp.expectations import choose_expectation, judging_expectation
from directgp.fitting.prepare_outputs import one_row_per_value
from directgp.fitting.specs import Coregionalised
from directgp.likelihoods import GaussianOutputs, PoissonExp
from directgp.losses import CRPS, BetaLoss, Direct, GammaLoss, Gibbs, Joint, LogLoss
from directgp.metrics import joint_nll
from directgp.models import SparseGP
from directgp.objective import Batch, Objective
from directgp.training.loop import GP

RNG = np.random.default_rng(0)
MIXING = np.array([[1.0, 0.3], [-0.6, 0.8], [0.2, 1.0]])
X, Y = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 3))
Y[::4, 1], Y[5:9, 2], Y[3] = np.nan, np.nan, [0.1, np.nan, np.nan]
OBSERVED = Y
WEIGHT = RNG.uniform(0.5, 2.0, 30)
DEEP = {
    "sigma-points": Deep(layers=2, width=2, num_inducing=6, num_sites=3),
    "samples": Deep(layers=2, width=2, num_inducing=6, num_sites=3, join="samples"),
}


def problem(base=None, likelihood=None):
    """A model whose posterior is not its prior, and a batch of whole rows."""
    likelihood = GaussianOutputs(3, 0.2) if likelihood is None else likelihood
    Y = np.round(np.abs(OBSERVED)) if likelihood.support == "counts" else OBSERVED
    base = Sparse(num_inducing=8) if base is None else base
    model = Coregionalised(base, MIXING).initial_model(X, Y, likelihood, 0)
    rng = np.random.default_rng(1)
    moved = tuple(mean + jnp.asarray(rng.normal(size=mean.shape)) for mean in model.top_means)
    model = eqx.tree_at(lambda m: m.top_means, model, moved)
    return GP(model, likelihood), Batch(jnp.asarray(X), jnp.asarray(Y), jnp.asarray(WEIGHT))


@pytest.mark.parametrize("base", [None, *DEEP.values()], ids=["sparse", *DEEP])
def test_marginals_are_those_of_rows_of_one_output_each(base):
    gp, rows = problem(base)
    long, key = one_row_per_value(rows, gp), jax.random.key(0)
    assert len(long.y) == np.isfinite(Y).sum()
    alone, whole = marginals_of(gp, long, key), outputs_of(gp, rows, key)
    row, output = np.nonzero(np.isfinite(Y))
    np.testing.assert_allclose(alone.mean[..., 0], whole.mean[:, row, output], rtol=1e-10)
    np.testing.assert_allclose(alone.variance[..., 0], whole.variance[:, row, output], rtol=1e-10)
    np.testing.assert_array_equal(alone.mean[..., 1], np.broadcast_to(output, alone.mean.shape[:2]))
    diagonal = jnp.diagonal(whole.covariance, axis1=-2, axis2=-1)
    np.testing.assert_allclose(diagonal, whole.variance, rtol=1e-10)


@pytest.mark.parametrize(
    "loss",
    [Direct(LogLoss()), Gibbs(LogLoss()), Direct(CRPS()), Gibbs(GammaLoss(1.2))],
    ids=["direct", "elbo", "crps", "gamma"],
)
@pytest.mark.parametrize("base", [None, DEEP["sigma-points"]], ids=["sparse", "deep"])
def test_value_and_gradient_are_those_of_rows_of_one_output_each(base, loss):
    gp, rows = problem(base)
    long = one_row_per_value(rows, gp)
    objective = Objective(loss, KL(), choose_expectation(loss.needs, gp.likelihood))

    def value(gp, batch):
        # The sum over the batch itself: it stands for as many rows as it has.
        count = jnp.asarray(float(len(batch.y)))
        return objective(*gp, batch, beta=jnp.asarray(0.7), num_data=count, key=None)[0]

    slope = eqx.filter_jit(eqx.filter_value_and_grad(value))
    of_rows, of_values = (slope(gp, batch) for batch in (rows, long))
    np.testing.assert_allclose(of_rows[0], of_values[0], rtol=1e-10)
    for one, other in zip(*map(jax.tree.leaves, (of_rows[1], of_values[1])), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def objective_of(loss, likelihood):
    return Objective(loss, KL(), choose_expectation(loss.needs, loss.scored(likelihood)))


@eqx.filter_jit
def row_losses(loss, gp, rows, key=None):
    return objective_of(loss, gp.likelihood).row_losses(
        gp.model.condition(), gp.likelihood, rows, key
    )


@eqx.filter_jit
def outputs_of(gp, rows, key=None):
    return gp.model.for_prediction().condition().outputs(rows.X, key)


@eqx.filter_jit
def marginals_of(gp, rows, key=None):
    return gp.model.for_prediction().condition().marginals(rows.X, key)


def test_the_joint_loss_is_the_log_density_of_the_vector():
    gp, rows = problem(DEEP["sigma-points"])
    got = np.asarray(row_losses(Joint(Direct(LogLoss())), gp, rows))
    q = gp.model.condition().outputs(rows.X)
    covariance = np.asarray(q.covariance) + 0.2 * np.eye(3)
    weights = np.exp(np.asarray(q.latents.log_weights))
    for row in range(30):
        known = np.flatnonzero(np.isfinite(Y[row]))
        total = 0.0
        for s, weight in enumerate(weights):
            C = covariance[s, row][np.ix_(known, known)]
            r = Y[row, known] - np.asarray(q.mean)[s, row, known]
            norm = np.sqrt(np.linalg.det(2 * np.pi * C))
            total += weight * np.exp(-0.5 * r @ np.linalg.solve(C, r)) / norm
        assert got[row] == pytest.approx(-np.log(total), rel=1e-8)


def test_joint_losses_of_outputs_that_share_nothing_are_sums():
    likelihood = GaussianOutputs(3, 0.2)
    apart = Coregionalised(Sparse(num_inducing=8), np.diag([1.0, 0.5, 2.0]))
    gp = GP(apart.initial_model(X, Y, likelihood, 0), likelihood)
    _, rows = problem()
    joint = row_losses(Joint(Direct(LogLoss())), gp, rows)
    each = row_losses(Direct(LogLoss()), gp, rows)
    np.testing.assert_allclose(joint, jnp.sum(each, axis=1), rtol=1e-9)
    average = row_losses(Joint(Gibbs(LogLoss())), *problem())
    np.testing.assert_allclose(
        average, jnp.sum(row_losses(Gibbs(LogLoss()), *problem()), axis=1), rtol=1e-9
    )


def test_joint_losses_of_counts_are_sampled():
    gp, rows = problem(likelihood=PoissonExp())
    direct, gibbs = Joint(Direct(LogLoss())), Joint(Gibbs(LogLoss()))
    assert gibbs.direct == direct
    sampled = row_losses(direct, gp, rows, jax.random.key(0))
    exact = judging_expectation(direct.needs, direct.scored(gp.likelihood), 30)
    judged = Objective(direct, KL(), exact).row_losses(gp.model.condition(), *gp[1:], rows, None)
    assert sampled.shape == (30,) and np.all(np.abs(sampled - judged) < 1.0)
    # Jensen: the density of an average is at least the average of the log densities.
    assert np.all(judged <= np.asarray(row_losses(gibbs, gp, rows, jax.random.key(1))) + 0.3)


@pytest.mark.parametrize("score", [LogLoss(), BetaLoss(1.1), GammaLoss(1.1)])
def test_gradients_of_joint_objectives_are_those_of_differences(score):
    gp, rows = problem()
    objective = objective_of(Joint(Direct(score)), gp.likelihood)
    learned, fixed = eqx.partition(gp, eqx.is_inexact_array)

    @jax.jit
    def value(learned):
        gp, count = eqx.combine(learned, fixed), jnp.asarray(30.0)
        return objective(*gp, rows, beta=jnp.asarray(1.0), num_data=count, key=None)[0]

    gradient, step = jax.jit(jax.grad(value))(learned), 1e-6
    rng = np.random.default_rng(0)
    direction = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), learned)
    ends = [
        float(value(jax.tree.map(lambda leaf, d: leaf + sign * step * d, learned, direction)))  # noqa: B023
        for sign in (1, -1)
    ]
    slope = sum(
        float(jnp.sum(a * b))
        for a, b in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True)
    )
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


def test_outputs_cost_one_pass_of_the_latent_functions():
    """Multiplications of a step for 12 outputs of two factors, counted by XLA, not by a clock."""

    def operations(outputs):
        mixing = np.random.default_rng(0).normal(size=(outputs, 2))
        base = Sparse(num_inducing=60)
        likelihood = GaussianOutputs(outputs)
        rows = np.random.default_rng(1).normal(size=(400, 2))
        many = np.random.default_rng(2).normal(size=(400, outputs))
        model = Coregionalised(base, mixing).initial_model(rows, many, likelihood, 0)
        assert isinstance(model.base, SparseGP)
        batch = Batch(jnp.asarray(rows), jnp.asarray(many), jnp.ones(400))
        objective = Objective(
            Direct(LogLoss()), KL(), choose_expectation(Direct(LogLoss()).needs, likelihood)
        )

        def value(gp):
            return objective(
                *gp, batch, beta=jnp.asarray(1.0), num_data=jnp.asarray(400.0), key=None
            )[0]

        gp = GP(model, likelihood)
        learned, fixed = eqx.partition(gp, eqx.is_inexact_array)
        program = jax.jit(jax.grad(lambda own: value(eqx.combine(own, fixed))))
        cost = program.lower(learned).cost_analysis()
        return cost["flops"]

    assert operations(12) < 1.3 * operations(2)


@pytest.mark.slow
def test_training_for_the_joint_loss_learns_how_outputs_vary_together():
    """Noise that both outputs share is a factor: the joint density tells, the marginals do not."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-2, 2, size=(300, 1))
    hidden = rng.normal(size=300)  # seen by no input
    targets = np.stack([np.sin(inputs[:, 0]) + 0.5 * hidden, 0.5 * hidden], axis=1)
    targets = targets + 0.05 * rng.normal(size=(300, 2))
    options = {"model": Sparse(num_inducing=12), "beta": 0.1, "training": Training(max_steps=400)}
    losses = {}
    for loss in ("direct-log", "joint-log"):
        fitted = fit_outputs(inputs[:200], targets[:200], loss=loss, **options)
        joint = fitted.predict_joint(inputs[200:])
        losses[loss] = joint_nll(joint, targets[200:])
    assert joint.correlation[:, 0, 1].mean() > 0.8
    assert losses["joint-log"] < losses["direct-log"] - 0.3
