"""Sound model files of every kind, and how a user reads each of them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import directgp as dg
from directgp.cli.app import run
from directgp.cli.cost_columns import labelled_cost
from directgp.cli.decide_rows import written_cost
from directgp.cli.models import TableModel
from directgp.expectations import choose_expectation
from directgp.fitting.fitted import LongTable
from directgp.fitting.specs import Coregionalised, Decoupled, Deep, Sparse
from directgp.tables import Standardiser, write_table

ROWS = np.random.default_rng(1).normal(size=(24, 3))
NEW = np.random.default_rng(2).normal(size=(5, 3))
LONG = np.concatenate([ROWS, np.arange(24.0)[:, None] % 2], axis=1)
COST = '{kind}false_positive = 1\nfalse_negative = 5\npositive = "yes"\n'

Found = dict[str, np.ndarray]


@dataclass(frozen=True)
class Target:
    """A kind of model file: `data` is a sound one, `read` loads it and predicts."""

    name: str
    data: bytes
    read: Callable[[Path], Found]


def targets(folder: Path, *, few: bool = False) -> list[Target]:
    """One of every kind, or a few; made without training wherever that can be."""
    chosen = ("sparse", "sigma points") if few else STRUCTURES
    made = [*structures(folder, chosen), _estimator(folder), *_stacks(folder)]
    return made if few else [*made, *_tables(folder)]


STRUCTURES = (
    "sparse", "classes", "sigma points", "grid", "samples", "own kernels", "features", "decoupled",
    "outputs",
)  # fmt: skip


def structures(folder: Path, chosen: Sequence[str] = STRUCTURES) -> list[Target]:
    """Files that `directgp.save` writes, of models that have not been trained."""
    mixing = np.array([[1.0, 0.2], [-0.5, 0.3]])
    kernel = dg.RBF(1.5, [0.7, 1.3, 1.0]) + 2.0 * dg.OnColumns(dg.Linear(), (0, 2))
    same: dict[str, Any] = {"mean": "constant", "num_inducing": 5, "mean_field": False}
    deep = Deep(width=2, num_sites=2, **same)
    kinds: dict[str, tuple[Any, Any]] = {
        "sparse": (Sparse(kernel=kernel, **same), dg.Gaussian()),
        "classes": (Sparse(**same), dg.Categorical(3)),
        "sigma points": (deep, dg.Gaussian()),
        "grid": (replace(deep, quadrature="qr2", kernel="rbf"), dg.StudentT()),
        "samples": (
            replace(deep, join="samples", num_sites=3, skip=True, kernel="matern32"),
            dg.PoissonExp(),
        ),
        "own kernels": (replace(deep, own_kernels=True, kernel="matern12"), dg.Gaussian()),
        "features": (
            Sparse(features="mlp", feature_widths=(4, 2), kernel="rbf", **same),
            dg.Gaussian(),
        ),
        "decoupled": (
            Decoupled(mean_inducing=6, kernel="linear", **same),
            dg.NegativeBinomialExp(),
        ),
        "outputs": (Coregionalised(Sparse(**same), mixing), dg.GaussianOutputs(2)),
    }
    found = []
    with jax.enable_x64(True):
        for name in chosen:
            fitted = _fitted(*kinds[name])
            path = folder / "sound"
            dg.save(fitted, path)
            found.append(Target(name, path.read_bytes(), _read_plain))
    return found


def _fitted(spec: Any, likelihood: Any) -> Any:
    """A model as it is when training starts, with a posterior that is not the prior."""
    several = isinstance(spec, Coregionalised)
    rows = LONG if several else ROWS
    y = np.abs(np.round(np.sin(rows[:, 0]) * 2)).clip(0, 2)
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
    loss = dg.Direct(dg.LogLoss())
    columns = rows.shape[1]
    fitted = dg.FittedGP(
        moved,
        Standardiser(np.full(columns, 0.1), np.full(columns, 2.0)),
        Standardiser(np.array([10.0]), np.array([4.0])),
        dg.Objective(loss, dg.KL(), choose_expectation(loss.needs, likelihood)),
        0.5,
        {2.0: 1.5, 0.5: 1.25},
        {"step": [50], "objective": [1.0]},
        "converged",
        1.0,
        names=None,
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


def _described(predictive: Any) -> Found:
    if hasattr(predictive, "probabilities"):
        return {"probabilities": predictive.probabilities}
    return {"mean": predictive.mean, "variance": predictive.variance}


def _read_plain(path: Path) -> Found:
    loaded = dg.load(path)
    json.dumps(loaded.summary, default=str)
    found = loaded.fitted.predict(NEW)
    each = found if isinstance(found, tuple) else (found,)
    return {f"{k} {n}": v for k, one in enumerate(each) for n, v in _described(one).items()}


def _estimator(folder: Path) -> Target:
    """A classifier that was trained for a cost."""
    labels = np.where(ROWS[:, 0] > 0, "yes", "no")
    cost = dg.BinaryCost(1, 5, positive="yes")
    model = dg.GPClassifier(loss=cost, beta=1.0, max_steps=3, num_inducing=4)
    model.fit(ROWS, labels)
    model.save(folder / "sound")

    def read(path: Path) -> Found:
        loaded = dg.GPClassifier.load(path)
        decision = loaded.decide(NEW)
        return {
            "probabilities": loaded.predict_proba(NEW),
            "labels": np.asarray(loaded.predict(NEW)),
            "actions": np.asarray(decision.named),
            "costs": decision.expected_cost,
        }

    return Target("estimator", (folder / "sound").read_bytes(), read)


def _stacks(folder: Path) -> list[Target]:
    """What the default estimators fit: exact GPs, trees, logistic regression and their weights."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + (0.1 + 0.2 * (X[:, 1] > 0)) * rng.normal(size=60)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [-0.4, 0.4])]
    kinds: dict[str, tuple[Any, np.ndarray]] = {
        "stack": (dg.GPRegressor(), y),
        "stack of 2 classes": (dg.GPClassifier(), y > 0),
        "stack of 3 classes": (dg.GPClassifier(), labels),
    }
    found = []
    for name, (model, targets) in kinds.items():
        model.fit(X, targets).save(folder / "sound")

        read = partial(_read_stack, type(model))
        found.append(Target(name, (folder / "sound").read_bytes(), read))
    return found


def _read_stack(of: Any, path: Path) -> Found:
    loaded = of.load(path)
    json.dumps(loaded.fitted_.hyperparameters(), default=str)
    predictive = loaded.predict_distribution(NEW)
    more = {} if of is dg.GPClassifier else {"quantiles": predictive.quantile((0.1, 0.9))}
    return _described(predictive) | more | {"said": np.asarray(loaded.predict(NEW))}


def _tables(folder: Path) -> list[Target]:
    """What `directgp fit` writes: a table with numbers, levels, dates and missing values."""
    rng = np.random.default_rng(4)
    size = rng.normal(size=30)
    table = {
        "size": [None if k == 3 else float(v) for k, v in enumerate(size)],
        "kind": [("flat", "house", "barn")[k % 3] for k in range(30)],
        "day": [f"2024-01-{k % 28 + 1:02d}" for k in range(30)],
        "sold": np.where(size + 0.3 * rng.normal(size=30) > 0, "yes", "no").tolist(),
    }
    data, cost = folder / "table.csv", folder / "cost.toml"
    write_table(data, table)
    cost.write_text(COST.format(kind='kind = "binary"\n'))
    model = folder / "sound.dgp"
    fit = ["fit", data, "-t", "sold", "-o", model, "--missing", "indicator", "--cost", cost]
    quick = ["--beta", "1", "--max-steps", "3", "--num-inducing", "4", "--quiet"]
    assert run([str(each) for each in (*fit, *quick)]) == 0

    def read(path: Path) -> Found:
        loaded = TableModel.load(path)
        encoded = loaded.encoder.encode(data)
        loaded.described()
        json.dumps(loaded.facts)
        predictive = loaded.predict(encoded.X)[0]
        written = written_cost(None, loaded.facts, None)
        decision = dg.decide(predictive, labelled_cost(written, loaded.target, None))
        return {
            "X": encoded.X,
            "probabilities": predictive.probabilities,
            "labels": np.asarray([str(label) for label in loaded.target.labels]),
            "actions": np.asarray(decision.named),
            "costs": decision.expected_cost,
        }

    return [Target("table", model.read_bytes(), read)]
