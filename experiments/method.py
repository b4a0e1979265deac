"""Train the method of a record: the conversion of records to calls of the library."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from directgp.divergences import divergences
from directgp.expectations import expectations
from directgp.fitting.fit import fit
from directgp.fitting.fit_collapsed import fit_collapsed
from directgp.fitting.fit_outputs import fit_outputs
from directgp.fitting.flat_options import MODEL_OPTIONS, model_from_options, specs_from_options
from directgp.fitting.specs import MAX_STEPS, FixedHyperparameters
from directgp.kernels import kernels
from directgp.likelihoods import likelihoods
from directgp.losses import Direct, Gibbs, losses, scores
from directgp.registry import Registry
from directgp.training.initialise import typical_distance
from experiments.datasets import Rows
from experiments.job import Record

NOT_OF_A_METHOD = ("kind", "data", "split", "size", "seed", "target", "trainer")
"""Fields of a job's record that describe the rows and the trainer."""

trainers = Registry("trainer")
_BETA_RULES: dict[str, Callable[[int], float]] = {"n": float, "sqrt-n": math.sqrt}
_AVERAGES = {"gibbs": Gibbs, "direct": Direct}


def train(record: Record, rows: Rows, *, validation: tuple | None = None) -> Any:
    """Train the method of a record.

    A record holds the arguments of `directgp.fit` and, flat, the options of its specs (`Sparse`,
    `Deep`, `Decoupled`, `Training`) by their own names, except that

    - `loss`, `likelihood`, `kernel`, `divergence`, `expectation` are a registered name or a table
      {name = …, and its options}; a loss may be {average = "gibbs", score = …, and its options};
      a divergence or kernel may be a list, one for each layer;
    - `kernel` {name = …, isotropic = true} has one length-scale for all inputs;
    - `layers` and `mean_inducing` select the model, and `deep` is `Deep.join`;
    - `beta` is a number, "auto" (of a `beta_grid`), "n" or "sqrt-n";
    - `steps` counts steps of Adam whatever the batch; `batch` is a number or "full";
    - `hyperparameters` and `start` may be the record of a method that is trained first;
    - `trainer` is "fit", "collapsed" (q(u) solved in closed form) or "outputs" (several targets).

    Args:
        record: the record of the job.
        rows: its rows.
        validation: (X, y) for validation; by default the validation rows of the split.
    """
    method = {name: value for name, value in record.items() if name not in NOT_OF_A_METHOD}
    seed = record.get("seed", 0)
    return _train(method, record.get("trainer", "fit"), rows, seed, validation)


def _train(method: Record, trainer: str, rows: Rows, seed: int, validation: tuple | None) -> Any:
    options = {name: part(name, value, rows, seed) for name, value in method.items()}
    for name in ("hyperparameters", "start"):
        if isinstance(first := method.get(name), Mapping):
            shared = {k: v for k, v in method.items() if k not in ("hyperparameters", "start")}
            own = {k: v for k, v in first.items() if k != "trainer"}
            options[name] = _train(shared | own, first.get("trainer", trainer), rows, seed, None)
    if validation is None and len(rows.y_valid):
        validation = (rows.X_valid, rows.y_valid)
    if isinstance(options.get("beta"), str) and options["beta"] in _BETA_RULES:
        options["beta"] = _BETA_RULES[options["beta"]](len(rows.y))
    return trainers.lookup(trainer)(
        rows.X, rows.y, validation=validation, seed=seed, verbose=False, **options
    )


_OWN_ARGUMENTS = {
    name
    for function in (fit, fit_outputs)
    for name in inspect.signature(function).parameters
    if name not in ("X", "y", "Y", "model", "training", "options")
}
"""Arguments of the trainers that are no options of a spec."""


def _arguments(num_rows: int, options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `fit`: specs, steps of a full batch or epochs, and the grid of β.

    A record is shared by methods, so options that have no effect on one of them are dropped.
    """
    batch = options.pop("batch", 1000)
    batch = None if batch == "full" or batch >= num_rows else batch
    steps = options.pop("steps", None)
    if "epochs" in options:  # some tables of a record may be so small that steps are counted
        options.setdefault("max_steps", MAX_STEPS)
    if steps is not None:
        options |= {"max_steps": steps}
        options |= {} if batch is None else {"epochs": steps / (num_rows // batch)}
    options["batch_size"] = batch
    earlier = _earlier_model(options)
    own = specs_from_options(_with_grid(options), _OWN_ARGUMENTS, drop_irrelevant=True)
    return own | ({} if earlier is None else {"model": earlier})


def _earlier_model(options: dict[str, Any]) -> Any:
    """Remove from the options the fit to continue from, or whose hyperparameters are kept."""
    start = options.pop("start", None)
    if start is not None or isinstance(options.get("hyperparameters", ""), str):
        return start
    return FixedHyperparameters(options.pop("hyperparameters"), options.get("mean_field", False))


def _with_grid(options: dict[str, Any]) -> dict[str, Any]:
    """Replace beta = "auto" by `beta_grid`, which has no effect for other values."""
    grid = options.get("beta_grid")
    rest = {name: value for name, value in options.items() if name != "beta_grid"}
    if grid is not None and rest.get("beta", "auto") == "auto":
        rest["beta"] = grid
    return rest


@trainers.register("fit")
def _fit(X: np.ndarray, y: np.ndarray, **options: Any) -> Any:
    return fit(X, y, **_arguments(len(y), options))


@trainers.register("outputs")
def _outputs(X: np.ndarray, y: np.ndarray, **options: Any) -> Any:
    return fit_outputs(X, y, **_arguments(len(y), options))


@trainers.register("collapsed")
def _collapsed(X: np.ndarray, y: np.ndarray, *, loss: str, **options: Any) -> Any:
    """Full batch; `loss` is "elbo", "fitc" or "direct-square"."""
    steps = options.pop("steps", None)
    options |= {} if steps is None else {"max_steps": steps}
    for name in ("batch", "likelihood", "precision"):
        options.pop(name, None)
    earlier = _earlier_model(options)
    rest = _with_grid(options)
    own = {name: rest.pop(name) for name in MODEL_OPTIONS if name in rest}
    model: Any = model_from_options(own, drop_irrelevant=True) if earlier is None else earlier
    return fit_collapsed(X, y, objective=loss, model=model, **rest)


parts = Registry("part of a method")


def part(name: str, value: Any, rows: Rows, seed: int) -> Any:
    """Make a part of a method from its record; other values are unchanged.

    Args:
        name: the field of the record.
        value: its value.
        rows: the rows of the job.
        seed: the seed of the job.
    """
    return parts.lookup(name)(value, rows, seed) if name in parts else value


def _created(registry: Registry, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return registry.create(value["name"], **{k: v for k, v in value.items() if k != "name"})


@parts.register("likelihood")
def _likelihood(value: Any, _rows: Rows, _seed: int) -> Any:
    return _created(likelihoods, value)


@parts.register("expectation")
def _expectation(value: Any, _rows: Rows, _seed: int) -> Any:
    return expectations.resolve(value)


@parts.register("divergence")
def _divergence(value: Any, _rows: Rows, _seed: int) -> Any:
    return divergences.resolve(value)


@parts.register("loss")
def _loss(value: Any, _rows: Rows, _seed: int) -> Any:
    if isinstance(value, Mapping) and "average" in value:
        own = {k: v for k, v in value.items() if k not in ("average", "score")}
        return _AVERAGES[value["average"]](scores.create(value["score"], **own))
    return _created(losses, value)


@parts.register("kernel")
def _kernel(value: Any, rows: Rows, seed: int) -> Any:
    if isinstance(value, list):
        return tuple(_kernel(own, rows, seed) for own in value)
    if not isinstance(value, Mapping):
        return value
    own = {k: v for k, v in value.items() if k not in ("name", "isotropic")}
    if value.get("isotropic"):
        spread = rows.X.std(axis=0)
        scaled = (rows.X - rows.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        own = {"variance": 1.0, "lengthscale": typical_distance(scaled, seed)} | own
    return kernels.create(value["name"], **own)
