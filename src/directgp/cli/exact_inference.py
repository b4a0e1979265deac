"""``directgp fit --inference``: exact GPs of numbers; Laplace, EP and loss-EM of two classes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from directgp.cli.errors import UserError
from directgp.cli.options import flag
from directgp.cli.read_rows import TrainingTable
from directgp.decisions import Cost
from directgp.decisions.exact_inference import (
    MAX_STEPS,
    OPTIONS_OF_TRAINING,
    fit_exact_for_cost,
    inferences,
)
from directgp.fitting.fit_exact_regression import (
    check_exact_training,
    check_no_training_of_q,
    objective_of,
)
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.flat_options import EXACT
from directgp.likelihoods import Gaussian, Likelihood
from directgp.likelihoods.bernoulli import Bernoulli
from directgp.tables import read_table
from directgp.tables.arrow_values import Where, numbers

if TYPE_CHECKING:
    from directgp.cli.training import Options


def check_inference(options: "Options") -> None:
    """Raise an error for options that exclude each other, before any file is read."""
    defaults = type(options)
    if options.inference is None:
        for name in ("test_inputs", "test_weight"):
            if getattr(options, name) is not None:
                raise UserError(f"{flag(name)} is for a loss-EM; add --inference loss-em")
        return
    if options.inference == EXACT:
        _check_exact(options)
        return
    chosen = inferences.create(options.inference)
    wrong = [
        name
        for name in OPTIONS_OF_TRAINING
        if name in vars(options) and name != "layers"
        if getattr(options, name) != getattr(defaults, name)
    ]
    wrong += ["loss"] if options.loss != "direct-log" else []
    wrong += ["layers"] if options.layers not in ("auto", 1) else []
    if wrong:
        raise UserError(
            f"{flag(wrong[0])} has no effect with --inference, which trains only the kernel; "
            "leave one of them out"
        )
    if chosen.calibrated and options.cost is None:
        raise UserError(
            f"--inference {options.inference} needs the cost of mistakes; add --cost cost.toml"
        )
    if not chosen.calibrated and (options.test_inputs or options.test_weight):
        name = "test_inputs" if options.test_inputs else "test_weight"
        raise UserError(f"{flag(name)} has no effect with --inference {options.inference}")


def _check_exact(options: "Options") -> None:
    """Raise an error for options that have no effect on an exact GP for regression."""
    for name in ("test_inputs", "test_weight"):
        if getattr(options, name) is not None:
            raise UserError(f"{flag(name)} has no effect with --inference {EXACT}")
    check_no_training_of_q(beta=options.beta, **options.fit_options())
    check_exact_training(options.training())
    if options.cost is None:
        objective_of(options.risk())


def check_inferred(likelihood: Likelihood, options: "Options", targets: int) -> None:
    """Raise an error for targets that the inference does not support.

    Args:
        likelihood: the likelihood of the targets.
        options: as given on the command line.
        targets: the number of targets.
    """
    if options.inference == EXACT:
        if targets > 1 or type(likelihood) is not Gaussian:
            raise UserError(
                f"--inference {EXACT} is for one target with Gaussian noise; leave it out"
            )
        return
    if options.inference is not None and (targets > 1 or not isinstance(likelihood, Bernoulli)):
        raise UserError(
            f"--inference {options.inference} is for one target of two classes; leave it out"
        )


def train_exact(
    training_table: TrainingTable, options: "Options", likelihood: Likelihood, cost: Cost | None
) -> FittedExact:
    """Fit a classifier by Laplace, EP or loss-EM.

    Args:
        training_table: the rows.
        options: as given on the command line, with an inference.
        likelihood: the likelihood of two classes.
        cost: the cost of mistakes, for the classes of the target.
    """
    assert options.inference is not None
    table, X_test = training_table.train.table, None
    if options.test_inputs is not None:
        table = read_table(Path(options.test_inputs))
        X_test = training_table.encoder.encode(table).X
    return fit_exact_for_cost(
        training_table.train.X,
        training_table.train.y,
        cost,
        inference=options.inference,
        X_test=X_test,
        test_weight=_weights(table, options.test_weight, training_table),
        kernel=options.kernel,
        likelihood=likelihood,
        num_inducing=options.num_inducing,
        max_steps=MAX_STEPS if options.max_steps is None else options.max_steps,
        seed=options.seed,
    )


def _weights(table: Any, name: str | None, training_table: TrainingTable) -> np.ndarray | None:
    """The weights of the test rows from their column."""
    if name is None:
        return None
    if name not in table.column_names:
        raise UserError(f"there is no column {name!r} for --test-weight; check its name")
    if name in training_table.encoder.sources:
        raise UserError(f"--test-weight {name} is also an input; add --drop {name}")
    return numbers(table[name], Where(name))
