"""Training from the command line: options and targets checked first."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from directgp.cli.console import Voice
from directgp.cli.cost_columns import PricedColumns, labelled_cost
from directgp.cli.errors import UserError
from directgp.cli.exact_inference import check_inference, check_two_classes, train_exact
from directgp.cli.read_rows import Learnable
from directgp.decisions import Cost, TableCost, fit_for_cost
from directgp.decisions.toml import in_words
from directgp.errors import DirectGPError
from directgp.expectations import choose_expectation
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.checks import check_count
from directgp.fitting.default_depth import asks_for_layers
from directgp.fitting.default_fit import fit_default
from directgp.fitting.default_likelihood import check_classes
from directgp.fitting.flat_options import (
    MODEL_OPTIONS,
    TRAINING_OPTIONS,
    default_of,
    model_from_options,
    training_from_options,
)
from directgp.fitting.specs import Training
from directgp.likelihoods import Likelihood, for_outputs, likelihoods
from directgp.losses import Loss, losses, made_robust
from directgp.tables.missing import MISSING_POLICIES


@dataclass(frozen=True)
class Options:
    """How to train, as given on the command line."""

    loss: str
    beta: float | Literal["auto"]
    likelihood: str
    kernel: str
    layers: int | Literal["auto"]
    width: int | None
    deep: str
    features: str | None
    robust: str | None
    robust_power: float | None
    num_inducing: int | None
    epochs: int | None
    max_steps: int | None
    time_budget: float | None
    holdout: float | None
    missing: str
    seed: int
    cost: dict[str, Any] | None = None
    """What the file of `--cost` says; then `loss` has no say."""
    inference: str | None = None
    """How the posterior is found; None: it is trained."""
    test_inputs: str | None = None
    """The file with the rows that decisions are for."""
    test_weight: str | None = None
    """The column that says how often each of these rows is met."""

    def facts(self) -> dict[str, Any]:
        """For the model file, reports and JSON."""
        return asdict(self) | ({} if self.cost is None else {"loss": None})

    def risk(self) -> Loss:
        """The loss, made robust if that was asked for."""
        return made_robust(losses.create(self.loss), self.robust, self.robust_power)

    def model_options(self) -> dict[str, Any]:
        """The options that describe the model."""
        return {name: getattr(self, name) for name in MODEL_OPTIONS if hasattr(self, name)}

    def training(self, checkpoint: Path | None = None) -> Training:
        """How to train; the checkpoints stay, also at the end (see `checkpoints`)."""
        own = {name: getattr(self, name) for name in TRAINING_OPTIONS if hasattr(self, name)}
        kept = {"checkpoint": checkpoint, "keep_checkpoint": checkpoint is not None}
        return training_from_options(own | kept)


PLAIN = {
    "width": default_of("width"),
    "deep": default_of("deep"),
    "features": default_of("features"),
    "robust": None,
    "robust_power": None,
}
"""The options of a model with nothing special about it."""


def checked_options(*, beta: str, layers: str, **given: Any) -> Options:
    """The options, or one line about the first that is wrong; nothing is read or compiled yet."""
    given = PLAIN | given
    losses.lookup(given["loss"])
    if given["likelihood"] != "auto":
        likelihoods.lookup(given["likelihood"])
    if given["missing"] not in MISSING_POLICIES:
        raise UserError(
            f"--missing must be one of {', '.join(MISSING_POLICIES)}, got {given['missing']!r}"
        )
    holdout = given["holdout"]
    if holdout is not None and not 0 <= holdout <= 0.9:
        raise UserError(f"--holdout must be a share from 0 to 0.9, got {holdout}")
    options = Options(beta=_beta(beta), layers=_layers(layers), **given)
    options.risk()
    check_inference(options, {**PLAIN, "beta": "auto"})
    with _naming_flags():
        check_count("seed", options.seed, 0)
        options.training()
        own = options.model_options()
        if options.layers == "auto":
            own["layers"] = 2 if asks_for_layers(own) else 1
        model_from_options(own)
    return options


@contextmanager
def _naming_flags() -> Iterator[None]:
    """Errors of specs name options as the command line does: --max-steps 5, not max_steps=5."""
    try:
        yield
    except DirectGPError as error:
        names = "|".join((*MODEL_OPTIONS, *TRAINING_OPTIONS, "seed"))
        spelled = re.compile(rf"^({names})(?= must)|\b({names})=([^\s;,]+)")
        text = spelled.sub(
            lambda found: " ".join((_flag(found[1] or found[2]), *filter(None, [found[3]]))),
            str(error),
        )
        raise UserError(text) from None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _layers(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if text not in ("1", "2", "3", "4", "5"):
        raise UserError(f"--layers must be auto or a number from 1 to 5, got {text!r}")
    return int(text)


def _beta(text: str) -> float | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UserError(f"--beta must be auto or a number ≥ 0, got {text!r}")
    return value


class Parts(NamedTuple):
    """What options that are names stand for, once the rows are known."""

    likelihood: Likelihood
    cost: Cost | None


def check_parts(learnable: Learnable, options: Options) -> Parts:
    """Check targets, loss and cost against each other, without compiling anything.

    Args:
        learnable: the rows, with the name of the likelihood that was chosen for them.
        options: as given on the command line.

    Returns:
        The likelihood for these rows, and the cost to train for, if there is one.
    """
    known = learnable.all_targets
    likelihood = likelihoods.create(learnable.likelihood).for_targets(known)
    for target in learnable.targets:
        check_classes(likelihood, target)
    likelihood.check_targets(known)
    if len(learnable.targets) > 1:
        for_outputs(likelihood, len(learnable.targets))
    check_two_classes(likelihood, options, len(learnable.targets))
    choose_expectation(options.risk().needs, likelihood)
    return Parts(likelihood, None if options.cost is None else _cost(learnable, options))


def _cost(learnable: Learnable, options: Options) -> Cost:
    """The cost to train for, or one line about why these rows cannot be trained for it."""
    assert options.cost is not None
    target, *others = learnable.targets
    if others or options.robust is not None:
        raise UserError("--cost is for a single target and has no robust form; leave one out")
    columns = PricedColumns(learnable.train.table)
    cost = labelled_cost(options.cost, target, columns)
    if isinstance(cost, TableCost):
        cost.for_training()
    else:
        cost.score()
    return cost


def announced(learnable: Learnable, options: Options) -> str:
    """What is going to be trained, in a line."""
    aim = f"loss {options.loss}" if options.cost is None else f"the cost {in_words(options.cost)}"
    if options.inference is not None:
        aim = f"{options.inference} inference" + ("" if options.cost is None else f" for {aim}")
    rows, inputs = learnable.train.X.shape
    return (
        f"Training on {rows:,} rows, {inputs} inputs, with {learnable.likelihood} likelihood and "
        f"{aim}."
    )


def train(
    learnable: Learnable,
    options: Options,
    voice: Voice,
    *,
    parts: Parts,
    checkpoint: Path | None = None,
) -> Fitted:
    """Fit the training rows; the checkpoints stay, also at the end (see `checkpoints`).

    Args:
        learnable: the rows.
        options: as given on the command line.
        voice: says whether to show progress.
        parts: from `check_parts`.
        checkpoint: the folder of checkpoints, None for none.
    """
    if options.inference is not None:
        return train_exact(learnable, options, parts.likelihood, parts.cost)
    model: dict[str, Any] = options.model_options()
    shared: dict[str, Any] = {
        "likelihood": parts.likelihood,
        "beta": options.beta,
        "training": options.training(checkpoint),
        "seed": options.seed,
        "verbose": voice.progress,
    }
    X, y = learnable.train.X, learnable.train.y
    if parts.cost is None:
        return fit_default(X, y, loss=options.risk(), model=model, **shared)
    model["layers"] = 1 if options.layers == "auto" else options.layers
    return fit_for_cost(X, y, parts.cost, model=model_from_options(model), **shared)
