"""`lossem` Table 4: normalised posterior risk of Laplace, loss-EM, EP and EP that knows the cost.

Loss-calibrated EP takes the decisions that maximise EP's estimate of the gain G(h) = ∫ p_D U_M dv
(eq. 9). U_M is a sum over the test rows, so G needs the normaliser of p_D times the utility of one
row at a time: EP's evidence with that row's factor among the sites (`ep_by_row`).

15 inputs from U(0, 1), labels from a probit GP, 1000 test inputs from U(a, a + 1) for a = 0, 0.2,
0.5; false negatives cost 1, thresholds from 0.5 to 0.05. The paper does not name its kernel: the
record does, an RBF. The posterior that risks are averaged over comes from importance sampling
around EP (`decisions.exact.importance`), checked with NUTS in the tests.
"""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicSpline

from directgp.exact import (
    ErrorCosts,
    FiniteGP,
    Target,
    ep,
    ep_by_row,
    importance,
    signed,
    t_points,
)
from directgp.exact.linearised_loss_em import e_steps, linearised_loss_em
from directgp.kernels import RBF
from directgp.likelihoods import BernoulliProbit
from directgp.parameters import float64
from directgp.theory.decision_theory import normalised_risk
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds

ROWS, TEST_ROWS = 15, 1000
SHIFTS = (0.0, 0.2, 0.5)
THRESHOLDS = np.linspace(0.5, 0.05, 5)
PAPERS = ("Laplace", "loss-EM", "EP")
METHODS = (*PAPERS, "EP E-step", "EP E-step, untilted", "loss-calibrated EP")
LOSS_EM = {"loss-EM": "laplace", "EP E-step": "ep", "EP E-step, untilted": "calibrated-ep"}
GRID = np.linspace(0.0, 1.5, 76)


def draw(key, variance: float, lengthscale: float):
    """One dataset: the finite GP, its signed rows and a test set of every distribution."""
    x_key, f_key, y_key, test_key = jax.random.split(key, 4)
    X = jax.random.uniform(x_key, (ROWS, 1))
    gp = FiniteGP(RBF(variance, lengthscale), X)
    features = gp.features(X)
    f = features.values @ jax.random.normal(f_key, (ROWS,))
    y = jax.random.bernoulli(y_key, jax.scipy.special.ndtr(f)).astype(float)
    test = jax.random.uniform(test_key, (len(SHIFTS), TEST_ROWS)) + jnp.array(SHIFTS)[:, None]
    return gp, signed(features.scaled, y), test


@partial(jax.jit, static_argnums=(2, 3))
def reference(keys, points, variance: float, lengthscale: float):
    """p(y = 1 | x) on a grid of x: the truth and EP by row; the effective draws; test inputs."""

    def one(key):
        gp, rows, test = draw(key, variance, lengthscale)
        target = Target(rows=rows, likelihood=BernoulliProbit())
        plain = ep(target)
        draws = importance(target, plain.posterior, points)
        grid = gp.features(jnp.asarray(GRID)[:, None]).scaled
        truth, by_row = draws.probit(grid, plain.posterior), ep_by_row(target, plain, grid)
        return jnp.stack([truth, by_row]), draws.effective, test

    return jax.lax.map(one, keys)


@partial(jax.jit, static_argnums=(2, 3))
def risks(keys, known, variance: float, lengthscale: float):
    """R̃ [datasets, shifts, costs, methods]; every plain posterior is solved once."""
    false_negative, bound = jnp.ones(()), jnp.ones(())

    def one(inputs):
        key, known = inputs
        gp, rows, test = draw(key, variance, lengthscale)
        target = Target(rows=rows, likelihood=BernoulliProbit())
        plain = {name: e_steps.create(name)(target, None) for name in ("laplace", "ep")}
        plain["calibrated-ep"] = plain["ep"]

        def one_shift(inputs):
            x, p, by_row = inputs
            test_rows = gp.features(x[:, None]).scaled
            sure = {name: q.posterior.probit(test_rows) for name, q in plain.items()}

            def one_cost(threshold):
                false_positive = threshold / (1.0 - threshold)
                costs = ErrorCosts(false_positive, false_negative)
                chosen = {
                    "Laplace": costs.bayes_decisions(sure["laplace"]),
                    "EP": costs.bayes_decisions(sure["ep"]),
                    "loss-calibrated EP": costs.bayes_decisions(by_row),
                }
                for method, step in LOSS_EM.items():
                    chosen[method] = linearised_loss_em(
                        rows, test_rows, costs, bound, e_step=step, plain=plain[step]
                    ).decisions
                return jnp.stack([normalised_risk(p, chosen[m], costs) for m in METHODS])

            return jax.lax.map(one_cost, jnp.asarray(THRESHOLDS))

        return jax.lax.map(one_shift, (test, *known))

    return jax.lax.map(one, (keys, known))


@float64
def repetition(
    seed: int, datasets: int, variance: float, lengthscale: float
) -> tuple[np.ndarray, float]:
    """R̃ of all methods on fresh datasets, and the smallest effective number of draws."""
    keys = jax.random.split(jax.random.key(seed), datasets)
    points = jnp.asarray(t_points(ROWS, 11, seed))
    probability, effective, test = reference(keys, points, variance, lengthscale)
    # Both are smooth in x, and the grid is 10 times finer than the length-scale.
    curves = [CubicSpline(GRID, curve, axis=1) for curve in np.asarray(probability)]
    known = np.stack([curve(x) for curve, x in zip(curves, np.asarray(test), strict=True)])
    known = jnp.asarray(np.clip(known, 0.0, 1.0))
    table = risks(keys, known, variance, lengthscale)
    return np.asarray(table), float(effective.min())


def averages(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean R̃ [shifts, costs, methods] and how many datasets are left out of it.

    As in the paper those are left out on which Laplace, loss-EM and EP all decide rightly.
    """
    hard = np.any(table[..., : len(PAPERS)] > 0, axis=-1)
    total = np.where(hard[..., None], table, 0.0).sum(axis=0)
    return total / np.maximum(hard.sum(axis=0), 1)[..., None], (~hard).sum(axis=0)


@kinds.register("loss-em-risk")
def loss_em_risk(record: Record, _folder: Path) -> Outcome:
    """One repetition: `datasets` drawn datasets, a row for each method, shift and threshold."""
    table, effective = repetition(
        record["seed"], record["datasets"], float(record["variance"]), float(record["lengthscale"])
    )
    means, easy = averages(table)
    return Outcome({"effective": effective}, rows=rows_of_risks(means, easy))


def rows_of_risks(means: np.ndarray, easy: np.ndarray) -> list[dict]:
    """R̃ [shifts, costs, methods] as rows with labels."""
    return [
        {
            "labels": {"method": method, "shift": shift, "threshold": round(float(threshold), 4)},
            "scores": {"risk": float(means[i, j, k]), "easy": int(easy[i, j])},
        }
        for i, shift in enumerate(SHIFTS)
        for j, threshold in enumerate(THRESHOLDS)
        for k, method in enumerate(METHODS)
    ]
