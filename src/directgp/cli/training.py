"""Training from the command line: `Options`, their validation, and the call of the fit."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from directgp.cli.console import Voice
from directgp.cli.cost_columns import PricedColumns, labelled_cost
from directgp.cli.errors import UserError
from directgp.cli.exact_inference import check_inference, check_inferred, train_exact
from directgp.cli.read_rows import Learnable
from directgp.decisions import Cost, TableCost, fit_for_cost
from directgp.decisions.toml import in_words
from directgp.divergences import divergences
from directgp.errors import DirectGPError
from directgp.expectations import choose_expectation, expectations
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.checks import Weight, check_count
from directgp.fitting.default_depth import asks_for_layers
from directgp.fitting.default_fit import check_loss_of_classes, fit_default, selects_stack
from directgp.fitting.default_likelihood import check_classes
from directgp.fitting.flat_options import (
    EXACT,
    FIT_OPTIONS,
    MODEL_OPTIONS,
    TRAINING_OPTIONS,
    default_of,
    given_fit_options,
    model_from_options,
    training_from_options,
)
from directgp.fitting.specs import BATCH_SIZE, Training
from directgp.likelihoods import Likelihood, for_outputs, likelihoods
from directgp.losses import Loss, losses, made_robust
from directgp.tables.missing import MISSING_POLICIES


@dataclass(frozen=True)
class Options:
    """How to train, as given on the command line."""

    loss: str
    beta: Weight
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
    num_sites: int | None = None
    quadrature: str | None = None
    starts: int | None = None
    predict_samples: int | None = None
    skip: bool = False
    own_kernels: bool = False
    mean_inducing: int | None = None
    mean_field: bool | None = None
    learn_from: int | None = None
    feature_widths: tuple[int, ...] | None = None
    divergence: Any = "kl"
    """A name, or a list of names with one for each layer."""
    expectation: str | None = None
    hyperparameters: str = "joint"
    batch_size: int = BATCH_SIZE
    learning_rate: float | None = None
    patience: int | None = None
    precision: str = "auto"
    tolerance: float | None = None
    window: int | None = None
    cost: dict[str, Any] | None = None
    """The content of the file of `--cost`; `loss` is then ignored."""
    inference: str | None = None
    """Method of exact inference, "exact" for numbers; None: gradient training."""
    test_inputs: str | None = None
    """The file with the test rows of loss-EM."""
    test_weight: str | None = None
    """The column with the weights of these rows."""

    def facts(self) -> dict[str, Any]:
        """For the model file, reports and JSON."""
        return asdict(self) | ({} if self.cost is None else {"loss": None})

    def risk(self) -> Loss:
        """The loss, made robust if that was asked for."""
        return made_robust(losses.resolve(self.loss), self.robust, self.robust_power)

    def model_options(self) -> dict[str, Any]:
        """The options that describe the model."""
        own = {name: value for name, value in vars(self).items() if name in MODEL_OPTIONS}
        return own if self.inference == EXACT else own | {"inference": None}  # else of classes

    def fit_options(self) -> dict[str, Any]:
        """Divergence, expectation and hyperparameters, where they are not the usual ones."""
        return given_fit_options({name: getattr(self, name) for name in FIT_OPTIONS})

    def training(self, checkpoint: Path | None = None) -> Training:
        """How to train; the checkpoints stay, also at the end (see `checkpoints`)."""
        own = {
            name: value
            for name, value in vars(self).items()
            if name in TRAINING_OPTIONS and value is not None
        }
        kept = {"checkpoint": checkpoint, "keep_checkpoint": checkpoint is not None}
        return training_from_options(own | kept)


PLAIN = {
    "width": default_of("width"),
    "deep": default_of("deep"),
    "features": default_of("features"),
    "robust": None,
    "robust_power": None,
    **{name: None for name in ("num_sites", "mean_field")},
    **{
        name: default_of(name)
        for name in (
            "quadrature",
            "starts",
            "predict_samples",
            "skip",
            "own_kernels",
            "mean_inducing",
            "feature_widths",
            "learn_from",
        )
    },
    **FIT_OPTIONS,
}
"""The default options of a model."""


def checked_options(*, beta: str, layers: str, **given: Any) -> Options:
    """The options, or one line about the first that is wrong; nothing is read or compiled yet."""
    given = PLAIN | given
    given["divergence"] = _divergence(given.pop("divergence", None))
    if given.get("feature_widths") is not None:
        given["feature_widths"] = tuple(given["feature_widths"])
    given["loss"] = losses.full_name(given["loss"])
    losses.resolve(given["loss"])
    divergences.resolve(given["divergence"])
    if given.get("expectation") is not None:
        expectations.resolve(given["expectation"])
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


def _divergence(names: str | Sequence[str] | None) -> str | list[str]:
    """One divergence for all layers, or several with one for each."""
    if isinstance(names, str):
        return names
    if not names:
        return "kl"
    return names[0] if len(names) == 1 else list(names)


def _layers(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if text not in ("1", "2", "3", "4", "5"):
        raise UserError(f"--layers must be auto or a number from 1 to 5, got {text!r}")
    return int(text)


def _beta(text: str) -> Weight:
    if text == "auto" or text == "pac-bayes":
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UserError(f"--beta must be auto, pac-bayes or a number ≥ 0, got {text!r}")
    return value


class Parts(NamedTuple):
    """Objects built from named options once the rows are known: likelihood and cost."""

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
    check_inferred(likelihood, options, len(learnable.targets))
    check_loss_of_classes(options.risk(), likelihood)
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


_STACKS = {
    "classes": "logistic regression, an exact GP, boosted trees and, for many rows, a sparse GP",
    "counts": "log-linear regression, GPs, boosted trees and, for many rows, a sparse GP",
}
_OF_NUMBERS = "exact GPs, boosted trees and, for many rows, a deep GP"


def announced(learnable: Learnable, options: Options, likelihood: Likelihood) -> str:
    """What is trained, on which rows, and which rows are held out."""
    rows = f"{len(learnable.train):,} rows, {learnable.train.X.shape[1]} inputs"
    said = f"Training on {rows}, with {_method(learnable, options, likelihood)}."
    if learnable.aside is not None:
        said += (
            f"\n{len(learnable.aside):,} rows are held out for the scores, and the saved model "
            "never sees them (--holdout 0 trains on all rows)."
        )
    return said


def _method(learnable: Learnable, options: Options, likelihood: Likelihood) -> str:
    """The model, the likelihood and the loss."""
    aim = f"loss {options.loss}" if options.cost is None else f"the cost {in_words(options.cost)}"
    if options.inference == EXACT:
        return f"{learnable.likelihood} likelihood and {aim}: an exact GP"
    if options.inference is not None:
        aim = f"{options.inference} inference" + ("" if options.cost is None else f" for {aim}")
        return f"{learnable.likelihood} likelihood and {aim}"
    chosen = (options.risk(), likelihood, options.model_options(), options.beta)
    alone = options.cost is None and len(learnable.targets) == 1
    if alone and selects_stack(*chosen, options.training(), options.fit_options()):
        members = _STACKS.get(likelihood.support, _OF_NUMBERS)
        return f"{aim}: a stack, which is a weighted mixture of {members}"
    return f"{learnable.likelihood} likelihood and {aim}: one GP"


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
    if options.inference not in (None, EXACT):
        return train_exact(learnable, options, parts.likelihood, parts.cost)
    model: dict[str, Any] = options.model_options()
    shared: dict[str, Any] = {
        "likelihood": parts.likelihood,
        "beta": options.beta,
        "training": options.training(None if options.inference == EXACT else checkpoint),
        "seed": options.seed,
        "verbose": voice.progress,
    }
    X, y = learnable.train.X, learnable.train.y
    shared |= options.fit_options()
    if parts.cost is None:
        return fit_default(X, y, loss=options.risk(), model=model, **shared)
    model["layers"] = 1 if options.layers == "auto" else options.layers
    return fit_for_cost(X, y, parts.cost, model=model_from_options(model), **shared)
