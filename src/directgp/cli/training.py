"""Training from the command line: `Options`, their validation, and the call of `fit`."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

from directgp.cli.application import PARAMETERS
from directgp.cli.console import Terminal
from directgp.cli.cost_columns import PricedColumns, labelled_cost
from directgp.cli.errors import UserError
from directgp.cli.exact_inference import check_inference, check_inferred, train_exact
from directgp.cli.options import flag
from directgp.cli.read_rows import TrainingTable
from directgp.decisions import Cost, TableCost, fit_for_cost
from directgp.decisions.cost_file import describe_cost
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
from directgp.fitting.specs import Training
from directgp.likelihoods import Likelihood, for_outputs, likelihoods
from directgp.losses import Loss, losses, made_robust
from directgp.tables.missing import MISSING_POLICIES


@dataclass(frozen=True)
class Options:
    """How to train, as given on the command line; None is the default of the model."""

    loss: str = "direct-log"
    beta: Weight = "auto"
    likelihood: str = "auto"
    kernel: str = default_of("kernel")
    layers: int | Literal["auto"] = "auto"
    width: int | None = None
    deep: str = default_of("deep")
    features: str | None = None
    robust: str | None = None
    robust_power: float | None = None
    num_inducing: int | None = None
    epochs: int | None = None
    max_steps: int | None = None
    time_budget: float | None = None
    holdout: float | None = None
    missing: str = "indicator"
    seed: int = 0
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
    divergence: Any = FIT_OPTIONS["divergence"]
    """A name, or a list of names with one for each layer."""
    expectation: str | None = FIT_OPTIONS["expectation"]
    hyperparameters: str = FIT_OPTIONS["hyperparameters"]
    batch_size: int = default_of("batch_size")
    learning_rate: float | None = None
    patience: int | None = None
    precision: str = default_of("precision")
    tolerance: float | None = None
    window: int | None = None
    cost: dict[str, Any] | None = None
    """The content of the file of `--cost`; `loss` is then ignored."""
    inference: str | None = None
    """Method of inference without gradient training, "exact" for regression; None: training."""
    test_inputs: str | None = None
    """The file with the test rows of loss-EM."""
    test_weight: str | None = None
    """The column with the weights of these rows."""

    def facts(self) -> dict[str, Any]:
        """The options for the model file, reports and JSON."""
        return asdict(self) | ({} if self.cost is None else {"loss": None})

    def risk(self) -> Loss:
        """The loss, robust if `robust` is given."""
        return made_robust(losses.resolve(self.loss), self.robust, self.robust_power)

    def model_options(self) -> dict[str, Any]:
        """The options that describe the model."""
        own = {name: value for name, value in vars(self).items() if name in MODEL_OPTIONS}
        return own if self.inference == EXACT else own | {"inference": None}  # a classifier's

    def fit_options(self) -> dict[str, Any]:
        """Divergence, expectation and hyperparameters, where they are not the defaults."""
        return given_fit_options({name: getattr(self, name) for name in FIT_OPTIONS})

    def training(self, checkpoint: Path | None = None) -> Training:
        """The `Training` spec; checkpoints are kept after training (see `checkpoints`)."""
        own = {
            name: value
            for name, value in vars(self).items()
            if name in TRAINING_OPTIONS and value is not None
        }
        kept = {"checkpoint": checkpoint, "keep_checkpoint": checkpoint is not None}
        return training_from_options(own | kept)


_STREAMED = {"kernel", "layers", "num_inducing"}
OPTIONS_OF_MEMORY = tuple(
    field.name
    for field in fields(Options)
    if field.name in {*MODEL_OPTIONS, *FIT_OPTIONS, "robust", "robust_power"} - _STREAMED
)
"""Options that a stream does not support; of `layers` it supports 1."""


def options_of_command(**changed: Any) -> Options:
    """The validated `Options` of the running command.

    Args:
        **changed: values that replace those of the command line.
    """
    given = PARAMETERS.get()
    own = {field.name: given[field.name] for field in fields(Options) if field.name in given}
    return checked_options(**own | changed)


def checked_options(*, beta: str = "auto", layers: str = "auto", **given: Any) -> Options:
    """Validate options before anything is read or compiled.

    Args:
        beta: "auto", "pac-bayes" or a number.
        layers: "auto" or a number.
        **given: values of the other `Options`, as the command line has them.

    Returns:
        The options; an invalid one is an error that names its flag.
    """
    given["divergence"] = _divergence(given.get("divergence"))
    if given.get("feature_widths") is not None:
        given["feature_widths"] = tuple(given["feature_widths"])
    given["loss"] = losses.full_name(given.get("loss", Options.loss))
    options = Options(beta=_beta(beta), layers=_layers(layers), **given)
    divergences.resolve(options.divergence)
    if options.expectation is not None:
        expectations.resolve(options.expectation)
    if options.likelihood != "auto":
        likelihoods.lookup(options.likelihood)
    if options.missing not in MISSING_POLICIES:
        raise UserError(
            f"--missing must be one of {', '.join(MISSING_POLICIES)}, got {options.missing!r}"
        )
    holdout = options.holdout
    if holdout is not None and not 0 <= holdout <= 0.9:
        raise UserError(f"--holdout must be a share from 0 to 0.9, got {holdout}")
    options.risk()
    check_inference(options)
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
    """Name options in errors of specs as the command line does: --max-steps 5, not max_steps=5."""
    try:
        yield
    except DirectGPError as error:
        names = "|".join((*MODEL_OPTIONS, *TRAINING_OPTIONS, "seed"))
        spelled = re.compile(rf"^({names})(?= must)|\b({names})=([^\s;,]+)")
        text = spelled.sub(
            lambda found: " ".join((flag(found[1] or found[2]), *filter(None, [found[3]]))),
            str(error),
        )
        raise UserError(text) from None


def _divergence(names: str | Sequence[str] | None) -> str | list[str]:
    """One divergence for all layers, or a list with one for each."""
    if isinstance(names, str):
        return names
    if not names:
        return Options.divergence
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


def check_parts(training_table: TrainingTable, options: Options) -> Parts:
    """Check targets, loss and cost against each other, without compiling anything.

    Args:
        training_table: the rows, with the name of the likelihood that was chosen for them.
        options: as given on the command line.

    Returns:
        The likelihood for these rows, and the cost to train for, if there is one.
    """
    known = training_table.all_targets
    likelihood = likelihoods.create(training_table.likelihood).for_targets(known)
    for target in training_table.targets:
        check_classes(likelihood, target)
    likelihood.check_targets(known)
    if len(training_table.targets) > 1:
        for_outputs(likelihood, len(training_table.targets))
    check_inferred(likelihood, options, len(training_table.targets))
    check_loss_of_classes(options.risk(), likelihood)
    choose_expectation(options.risk().needs, likelihood)
    return Parts(likelihood, None if options.cost is None else _cost(training_table, options))


def _cost(training_table: TrainingTable, options: Options) -> Cost:
    """The cost to train for; an error if these targets or prices do not allow it."""
    assert options.cost is not None
    target, *others = training_table.targets
    if others or options.robust is not None:
        raise UserError("--cost is for a single target and has no robust form; leave one out")
    columns = PricedColumns(training_table.train.table)
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


def announced(training_table: TrainingTable, options: Options, likelihood: Likelihood) -> str:
    """A message on the model, its training rows and the held-out rows.

    Args:
        training_table: the rows.
        options: as given on the command line.
        likelihood: the likelihood of these rows.
    """
    rows = f"{len(training_table.train):,} rows, {training_table.train.X.shape[1]} inputs"
    message = f"Training on {rows}, with {_method(training_table, options, likelihood)}."
    if training_table.aside is not None:
        message += (
            f"\n{len(training_table.aside):,} rows are held out for the scores and not used in "
            "training (--holdout 0 trains on all rows)."
        )
    return message


def _method(training_table: TrainingTable, options: Options, likelihood: Likelihood) -> str:
    """The model, the likelihood and the loss."""
    aim = (
        f"loss {options.loss}"
        if options.cost is None
        else f"the cost {describe_cost(options.cost)}"
    )
    if options.inference == EXACT:
        return f"{training_table.likelihood} likelihood and {aim}: an exact GP"
    if options.inference is not None:
        aim = f"{options.inference} inference" + ("" if options.cost is None else f" for {aim}")
        return f"{training_table.likelihood} likelihood and {aim}"
    chosen = (options.risk(), likelihood, options.model_options(), options.beta)
    alone = options.cost is None and len(training_table.targets) == 1
    if alone and selects_stack(*chosen, options.training(), options.fit_options()):
        members = _STACKS.get(likelihood.support, _OF_NUMBERS)
        return f"{aim}: a stack, which is a weighted mixture of {members}"
    return f"{training_table.likelihood} likelihood and {aim}: one GP"


def train(
    training_table: TrainingTable,
    options: Options,
    terminal: Terminal,
    *,
    parts: Parts,
    checkpoint: Path | None = None,
) -> Fitted:
    """Fit the training rows; checkpoints are kept after training (see `checkpoints`).

    Args:
        training_table: the rows.
        options: as given on the command line.
        terminal: tells whether to show progress.
        parts: from `check_parts`.
        checkpoint: the folder of checkpoints, None for none.
    """
    if options.inference not in (None, EXACT):
        return train_exact(training_table, options, parts.likelihood, parts.cost)
    model: dict[str, Any] = options.model_options()
    shared: dict[str, Any] = {
        "likelihood": parts.likelihood,
        "beta": options.beta,
        "training": options.training(None if options.inference == EXACT else checkpoint),
        "seed": options.seed,
        "verbose": terminal.progress,
    }
    X, y = training_table.train.X, training_table.train.y
    shared |= options.fit_options()
    if parts.cost is None:
        return fit_default(X, y, loss=options.risk(), model=model, **shared)
    model["layers"] = 1 if options.layers == "auto" else options.layers
    return fit_for_cost(X, y, parts.cost, model=model_from_options(model), **shared)
