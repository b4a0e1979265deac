"""``directgp fit --inference``: exact GPs of numbers; Laplace, EP and loss-EM of two classes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from directgp.cli.errors import UserError
from directgp.cli.read_rows import Learnable
from directgp.decisions import Cost
from directgp.decisions.exact_inference import fit_exact_for_cost, inferences
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

_OF_TRAINED = (
    "beta", "width", "deep", "features", "robust", "robust_power", "epochs", "time_budget",
    "num_sites", "quadrature", "starts", "predict_samples", "skip", "own_kernels", "mean_inducing",
    "mean_field", "feature_widths", "divergence", "expectation", "hyperparameters",
)  # fmt: skip
"""Options of models that are trained."""
_MAX_STEPS = 100


def check_inference(options: "Options", usual: dict[str, Any]) -> None:
    """Refuse options that do not go together, before anything is read.

    Args:
        options: as given on the command line.
        usual: the values of options that are not given.
    """
    if options.inference is None:
        for name in ("test_inputs", "test_weight"):
            if getattr(options, name) is not None:
                raise UserError(f"{_flag(name)} is for a loss-EM; add --inference loss-em")
        return
    if options.inference == EXACT:
        _check_exact(options)
        return
    chosen = inferences.create(options.inference)
    for name in _OF_TRAINED:
        if getattr(options, name) != usual.get(name):
            raise UserError(
                f"{_flag(name)} has no effect with --inference, which trains nothing but the "
                "kernel; leave one of them out"
            )
    if options.layers not in ("auto", 1) or options.loss != "direct-log":
        name = "loss" if options.loss != "direct-log" else "layers"
        raise UserError(f"--{name} has no effect with --inference; leave one of them out")
    if chosen.calibrated and options.cost is None:
        raise UserError(
            f"--inference {options.inference} needs what mistakes cost; add --cost cost.toml"
        )
    if not chosen.calibrated and (options.test_inputs or options.test_weight):
        name = "test_inputs" if options.test_inputs else "test_weight"
        raise UserError(f"{_flag(name)} has no effect with --inference {options.inference}")


def _check_exact(options: "Options") -> None:
    """Refuse options that have no effect on an exact GP of numbers."""
    for name in ("test_inputs", "test_weight"):
        if getattr(options, name) is not None:
            raise UserError(f"{_flag(name)} has no effect with --inference {EXACT}")
    check_no_training_of_q(beta=options.beta, **options.fit_options())
    check_exact_training(options.training())
    if options.cost is None:
        objective_of(options.risk())


def check_inferred(likelihood: Likelihood, options: "Options", targets: int) -> None:
    """Refuse targets that the inference is not for."""
    if options.inference == EXACT:
        if targets > 1 or type(likelihood) is not Gaussian:
            raise UserError(
                f"--inference {EXACT} is for one target of numbers with Gaussian noise; leave it "
                "out"
            )
        return
    if options.inference is not None and (targets > 1 or not isinstance(likelihood, Bernoulli)):
        raise UserError(
            f"--inference {options.inference} is for one target of two classes; leave it out"
        )


def train_exact(
    learnable: Learnable, options: "Options", likelihood: Likelihood, cost: Cost | None
) -> FittedExact:
    """Find the posterior for the training rows.

    Args:
        learnable: the rows.
        options: as given on the command line, with an inference.
        likelihood: of two classes.
        cost: what mistakes cost, for the classes of the target.
    """
    assert options.inference is not None
    table, X_test = learnable.train.table, None
    if options.test_inputs is not None:
        table = read_table(Path(options.test_inputs))
        X_test = learnable.encoder.encode(table).X
    return fit_exact_for_cost(
        learnable.train.X,
        learnable.train.y,
        cost,
        inference=options.inference,
        X_test=X_test,
        test_weight=_weights(table, options.test_weight, learnable),
        kernel=options.kernel,
        likelihood=likelihood,
        num_inducing=options.num_inducing,
        max_steps=_MAX_STEPS if options.max_steps is None else options.max_steps,
        seed=options.seed,
    )


def _weights(table: Any, name: str | None, learnable: Learnable) -> np.ndarray | None:
    """The column of weights of the test rows."""
    if name is None:
        return None
    if name not in table.column_names:
        raise UserError(f"there is no column {name!r} for --test-weight; check its name")
    if name in learnable.encoder.sources:
        raise UserError(f"--test-weight {name} is also an input; add --drop {name}")
    return numbers(table[name], Where(name))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
