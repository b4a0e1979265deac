"""Sparse and deep GPs of every kind, as they are when training starts, and files of them.

Nothing is trained and little is compiled. `structures` are files that `directgp.save` writes; with
`trained_members` they are what stacks of thousands of rows have as members.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import directgp as dg
from directgp.collapsed.calibration import CalibratedScale
from directgp.divergences import PerLayer
from directgp.expectations import Expectation, choose_expectation
from directgp.expectations.conjugate import ConjugateSampler
from directgp.expectations.quasi_monte_carlo import QuasiMonteCarlo
from directgp.expectations.tilted import EnvelopeSampler, WideSampler
from directgp.fitting.fitted import LongTable
from directgp.fitting.specs import Coregionalised, Decoupled, Deep, Sparse
from directgp.losses.cost import CostScore
from directgp.parameters import float64, frozen, lent
from directgp.tables import Standardiser

NEW = np.random.default_rng(2).normal(size=(5, 3))
_SAME: dict[str, Any] = {"mean": "constant", "num_inducing": 5, "mean_field": False}
_BETA, _CURVE = 0.5, {2.0: 1.5, 0.5: 1.25}

Found = dict[str, np.ndarray]


@dataclass(frozen=True)
class Target:
    """A kind of model file: `data` is a sound one, `read` loads it and predicts."""

    name: str
    data: bytes
    read: Callable[[Path], Found]


class Kind(NamedTuple):
    """A model, a likelihood and an objective; the objective need not be one that could train it."""

    spec: Any
    likelihood: Any
    loss: Any
    divergence: Any
    expectation: Expectation


def _kinds() -> dict[str, Kind]:
    """Together they have every model, kernel, likelihood, loss, divergence and expectation."""
    mixing = np.array([[1.0, 0.2], [-0.5, 0.3]])
    deep = Deep(width=2, num_sites=2, **_SAME)
    shallow = Sparse(**_SAME)
    kernel = dg.RBF(1.5, [0.7, 1.3, 1.0]) + 2.0 * dg.OnColumns(dg.Linear(), (0, 2))
    cost = CostScore(np.array([[0.0, 1.0], [5.0, 0.0]]), 0.1)
    layers = PerLayer((dg.KL(), dg.Renyi(0.5)))
    samplers = [dg.ProductSampling(sampler=EnvelopeSampler())]
    samplers += [dg.ProductSampling(sampler=made) for made in (WideSampler(), ConjugateSampler())]
    log, kl = dg.Direct(dg.LogLoss()), dg.KL()
    closed = dg.ClosedForm()
    return {
        "sparse": Kind(replace(shallow, kernel=kernel), dg.Gaussian(), log, kl, closed),
        "classes": Kind(shallow, dg.Categorical(3), log, kl, dg.MonteCarlo()),
        "sigma points": Kind(deep, dg.Gaussian(), log, layers, closed),
        "grid": Kind(
            replace(deep, quadrature="qr2", kernel="rbf"),
            dg.StudentT(), dg.Gibbs(dg.GammaLoss()), kl, dg.GaussHermite(),
        ),
        "samples": Kind(
            replace(deep, join="samples", num_sites=3, skip=True, kernel="matern32"),
            dg.PoissonExp(), dg.SecondOrder(), kl, dg.CentredQuadrature(),
        ),
        "own kernels": Kind(
            replace(deep, own_kernels=True, kernel="matern12"),
            dg.Gaussian(), dg.Direct(dg.CRPS()), kl, samplers[0],
        ),
        "features": Kind(
            Sparse(features="mlp", feature_widths=(4, 2), kernel="rbf", **_SAME),
            dg.Gaussian(), dg.Direct(dg.Pinball()), dg.WeightedKL(0.5), QuasiMonteCarlo(),
        ),
        "decoupled": Kind(
            Decoupled(mean_inducing=6, kernel="linear", **_SAME),
            dg.NegativeBinomialExp(), dg.BlackBoxAlpha(), dg.Renyi(0.5), samplers[1],
        ),
        "outputs": Kind(Coregionalised(shallow, mixing), dg.GaussianOutputs(2), log, kl, closed),
        "for a cost": Kind(
            replace(shallow, mean="zero", kernel=dg.RBF() * dg.Matern32()),
            dg.BernoulliProbit(), dg.Direct(cost), kl, samplers[2],
        ),
        "logit": Kind(
            replace(deep, quadrature="gauss-hermite"),
            dg.BernoulliLogit(), dg.Gibbs(dg.LogLoss()), kl, closed,
        ),
        "softplus": Kind(
            replace(deep, quadrature="qr1", mean_field=True),
            dg.PoissonSoftplus(), dg.Joint(log), kl, closed,
        ),
        "scatter": Kind(
            shallow, dg.NegativeBinomialSoftplus(), dg.Gibbs(dg.BetaLoss()), kl, dg.MonteCarlo()
        ),
        "square": Kind(shallow, dg.Gaussian(), dg.Direct(dg.SquareLoss()), kl, closed),
        "calibrated": Kind(shallow, dg.Gaussian(), log, kl, closed),
        "lent": Kind(shallow, dg.Gaussian(), log, kl, closed),
    }  # fmt: skip


STRUCTURES = (
    "sparse", "classes", "sigma points", "grid", "samples", "own kernels", "features", "decoupled",
    "outputs", "for a cost", "logit", "softplus", "scatter", "square", "calibrated", "lent",
)  # fmt: skip


@float64
def structures(folder: Path, chosen: Sequence[str] = STRUCTURES) -> list[Target]:
    """Files that `directgp.save` writes, of models that have not been trained."""
    found, kinds = [], _kinds()
    for name in chosen:
        fitted = untrained(*kinds[name])
        if name == "calibrated":
            fitted = with_kernel(fitted, lambda kernel: CalibratedScale(kernel, 0.8))
        elif name == "lent":
            fitted = with_kernel(fitted, lambda kernel: lent(frozen(dg.Linear()) + kernel))
        path = folder / "sound"
        dg.save(fitted, path)
        found.append(Target(name, path.read_bytes(), read_plain))
    return found


def with_kernel(fitted: Any, change: Callable[[Any], Any]) -> Any:
    """The model with another kernel of its only layer."""
    model = fitted.gp.model
    changed = replace(model, kernel=change(model.kernel))
    return replace(fitted, gp=fitted.gp._replace(model=changed))


@float64
def untrained(
    spec: Any,
    likelihood: Any,
    loss: Any = None,
    divergence: Any = None,
    expectation: Any = None,
    *,
    columns: int = 3,
) -> Any:
    """A model as it is when training starts, with a posterior that is not the prior.

    Args:
        spec: of the model.
        likelihood: of its targets.
        loss: of its objective; None: the direct log loss.
        divergence: of its objective; None: KL.
        expectation: of its objective; None: what the loss takes by default.
        columns: of its inputs.
    """
    several = isinstance(spec, Coregionalised)
    rows = np.random.default_rng(1).normal(size=(24, columns))
    y = np.abs(np.round(np.sin(rows[:, 0]) * 2)).clip(0, 2)
    if several:
        rows = np.concatenate([rows, np.arange(24.0)[:, None] % 2], axis=1)
    gp = dg.GP(spec.initial_model(rows, y, likelihood, 0), likelihood)
    rng = np.random.default_rng(3)
    moved = jax.tree.map(
        lambda leaf: (
            leaf + 0.1 * jnp.asarray(rng.normal(size=leaf.shape))
            if isinstance(leaf, jax.Array) and leaf.dtype == jnp.float64
            else leaf
        ),
        gp,
    )
    loss = dg.Direct(dg.LogLoss()) if loss is None else loss
    width = rows.shape[1]
    fitted = dg.FittedGP(
        moved,
        Standardiser(np.full(width, 0.1), np.full(width, 2.0)),
        Standardiser(np.array([10.0]), np.array([4.0])),
        dg.Objective(
            loss, divergence or dg.KL(), expectation or choose_expectation(loss.needs, likelihood)
        ),
        _BETA,
        _CURVE,
        {"step": [50], "objective": [1.0]},
        "converged",
        1.0,
        names=None,
        support=24.0,
    )
    if not several:
        return fitted
    levels = gp.model.levels  # those of the numbers 0 and 1
    fitted = replace(fitted, gp=fitted.gp._replace(model=replace(fitted.gp.model, levels=levels)))
    shift, scale = fitted.inputs
    return replace(
        fitted,
        inputs=Standardiser(shift[:-1], scale[:-1]),
        targets=Standardiser(np.array([0.0, 100.0]), np.array([1.0, 20.0])),
        long_table=LongTable(Standardiser(shift[-1:], scale[-1:]), fitted.targets),
    )


def described(predictive: Any) -> Found:
    """What a user reads off a prediction."""
    if hasattr(predictive, "probabilities"):
        return {"probabilities": predictive.probabilities}
    found = {"mean": predictive.mean, "variance": predictive.variance}
    return found | {"quantiles": predictive.quantile((0.1, 0.9))}


def read_plain(path: Path) -> Found:
    """By `directgp.load`; all that a loaded model says of itself is asked for."""
    loaded = dg.load(path)
    json.dumps(loaded.summary, default=str)
    repr(loaded.fitted)
    json.dumps(loaded.fitted.hyperparameters(), default=str)
    found = loaded.fitted.predict(NEW)
    each = found if isinstance(found, tuple) else (found,)
    return {f"{k} {n}": v for k, one in enumerate(each) for n, v in described(one).items()}
