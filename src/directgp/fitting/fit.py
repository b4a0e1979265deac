"""`fit`: from a table of numbers to a trained Gaussian process, in one call."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

from directgp.divergences import Divergence
from directgp.errors import DirectGPError, WrongType
from directgp.expectations import Expectation
from directgp.fitting.checks import (
    Beta,
    beta_and_grid,
    check_choice,
    check_count,
    check_positive_beta,
    weight_for,
)
from directgp.fitting.fit_exact_regression import check_no_training_of_q, fit_exact_regression
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.folds import folds_of, num_folds
from directgp.fitting.mixture_check import warn_of_collapse
from directgp.fitting.prepare import prepare, with_fresh_posterior
from directgp.fitting.prepare_outputs import is_multi_output, one_row_per_value, prepare_outputs
from directgp.fitting.specs import (
    Coregionalised,
    Exact,
    FixedHyperparameters,
    ModelSpec,
    Sparse,
    Training,
)
from directgp.fitting.square_loss_variance import continued_from, is_solved, with_spread
from directgp.fitting.starts import best_start, num_starts, sees_components
from directgp.fitting.workbench import (
    Workbench,
    in_shared_size,
    judge_of,
    objective_of,
    own_columns,
    precisions,
    run_id_of,
)
from directgp.likelihoods import Likelihood, likelihoods
from directgp.linalg.compile_cache import kept_programs
from directgp.losses import Joint, Loss, Score, losses
from directgp.parameters import float64
from directgp.predictive import Predictive
from directgp.tables import column_names
from directgp.tables.stream import StreamedRows
from directgp.training.budget import BudgetPart, is_long, within_budget
from directgp.training.folder_lock import holds_checkpoint
from directgp.training.padding import with_columns
from directgp.training.progress import reporter
from directgp.training.resumable import remove_checkpoints
from directgp.training.select_beta import (
    Fold,
    race_chunk,
    race_fits,
    select_beta,
    train_with_beta,
)

_SPARSE, _TRAINING = Sparse(), Training()


@overload
def fit(
    X: Any,
    y: Any,
    *,
    model: Exact,
    likelihood: str | Likelihood = ...,
    loss: str | Loss | Score | Mapping[str, Any] = ...,
    beta: Literal["auto", 1] = ...,
    training: Training = ...,
    sample_weight: Any = ...,
    seed: int = ...,
    verbose: bool | None = ...,
) -> FittedExactRegression: ...


@overload
def fit(
    X: Any,
    y: Any,
    *,
    model: ModelSpec | Coregionalised | FixedHyperparameters | FittedGP = ...,
    likelihood: str | Likelihood = ...,
    loss: str | Loss | Score | Mapping[str, Any] = ...,
    divergence: str | Divergence | Mapping[str, Any] | Sequence[Any] = ...,
    expectation: str | Expectation | Mapping[str, Any] | None = ...,
    beta: Beta = ...,
    hyperparameters: Literal["joint", "from-elbo"] = ...,
    validation: float | tuple[Any, ...] | None = ...,
    training: Training = ...,
    sample_weight: Any = ...,
    seed: int = ...,
    verbose: bool | None = ...,
) -> FittedGP[Predictive]: ...


@float64
@holds_checkpoint(lambda X: not isinstance(X, StreamedRows) or X.shards.team.leads)
def fit(
    X: Any,
    y: Any,
    *,
    model: ModelSpec | Exact | Coregionalised | FixedHyperparameters | FittedGP = _SPARSE,
    likelihood: str | Likelihood = "gaussian",
    loss: str | Loss | Score | Mapping[str, Any] = "direct-log",
    divergence: str | Divergence | Mapping[str, Any] | Sequence[Any] = "kl",
    expectation: str | Expectation | Mapping[str, Any] | None = None,
    beta: Beta = "auto",
    hyperparameters: Literal["joint", "from-elbo"] = "joint",
    validation: float | tuple[Any, ...] | None = None,
    training: Training = _TRAINING,
    sample_weight: Any = None,
    seed: int = 0,
    verbose: bool | None = None,
) -> FittedGP[Predictive] | FittedExactRegression:
    """Train a Gaussian process for `loss` + β·`divergence` and return it in the user's units.

    Args:
        X: inputs [N D], a numeric array or frame.
        y: targets [N]; see `fit_outputs` for several targets per row.
        model: a spec (`Sparse(...)`, `Deep(...)` or `Decoupled(...)`) builds a new model; a
            `FittedGP` is trained further, with its likelihood and scaling;
            `FixedHyperparameters(fitted)` keeps its prior and trains a new posterior only.
            `Exact()` is an exact GP, fitted by evidence or a leave-one-out loss.
        likelihood: p(y | f), by name or a `Likelihood`.
        loss: the loss to minimise, by name or a `Loss` or `Score`.
        divergence: of q(u) from the prior, by name or a `Divergence`; a list has one for each
            layer. Names may have options, "renyi:alpha=0.5"; so may losses and expectations.
        expectation: how E_q[…] is computed; None chooses a closed form or quadrature.
        beta: the weight of the divergence: a number, a list of numbers to choose from on held-out
            rows, or "auto" for the grid n, n/2, …, 0.01. Candidates are compared by successive
            halving. "pac-bayes" is √n of n rows.
        hyperparameters: "joint" trains them with the posterior; "from-elbo" first maximises the
            ELBO, then trains the posterior only (`dlm` "fixed"; models of one layer).
        validation: held-out rows: a share of the rows (None: 10 % if β is to be chosen), or
            separate rows, (X, y) or (X, y, weight).
        training: steps, learning rates, precision, …; see `Training`.
        sample_weight: one weight per row; a row of weight 2 is equivalent to two equal rows.
        seed: of all random numbers; the same seed gives bitwise the same result.
        verbose: whether to show progress; None: if the output is a terminal.

    Returns:
        The trained model, with `predict`, `beta`, `history` and `hyperparameters()`.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> fitted = fit(X, np.sin(6 * X[:, 0]), beta=1.0, training=Training(max_steps=400))
    >>> bool(abs(fitted.predict([[0.5]]).mean[0] - np.sin(3.0)) < 0.05)
    True
    """
    check_together(model, hyperparameters, beta, validation, training)
    check_count("seed", seed, 0)
    if isinstance(model, Exact):
        check_no_training_of_q(
            beta=beta,
            divergence=divergence,
            expectation=expectation,
            hyperparameters=hyperparameters,
            validation=validation,
        )
        return fit_exact_regression(
            X,
            y,
            model=model,
            likelihood=likelihood,
            loss=loss,
            training=training,
            sample_weight=sample_weight,
            seed=seed,
            verbose=verbose,
        )
    kept_programs()
    names = column_names(X)
    clock = X.shards.team.clock if isinstance(X, StreamedRows) else time.monotonic
    began = clock()
    value, beta_grid = beta_and_grid(beta)
    start = model if isinstance(model, FittedGP) else None
    depth, diagonal = _depth_and_form(model)
    time_budget = training.time_budget
    # Rows of an earlier fit cannot be held out; folds take too long with a time budget or layers.
    needs_held_out = not (validation is None and training.patience is None and start is None)
    single = needs_held_out or isinstance(X, StreamedRows) or depth > 1 or time_budget is not None

    def folds_for(rows: int) -> int:
        return num_folds(rows, training.batch_size) if value == "auto" and not single else 0

    named = isinstance(likelihood, str)
    several, risk = is_multi_output(model, y), losses.resolve(loss)
    risk = risk.loss if isinstance(risk, Joint) and not several else risk
    shared: dict[str, Any] = {
        "model": model if start is None else continued_from(start, risk),
        "validation": validation,
        "sample_weight": sample_weight,
        "seed": seed,
    }
    if several:
        ready = prepare_outputs(X, y, likelihoods.resolve(likelihood), **shared)
    else:
        ready = prepare(
            X,
            y,
            likelihoods.create(likelihood).for_targets(y) if named else likelihood,
            hold_out=lambda rows: value == "auto" and folds_for(rows) == 0,
            **shared,
        )
    columns, value = ready.data.X.shape[1], weight_for(value, ready.num_rows)
    settings = training.settings(ready.num_rows, depth, seed)
    parts = folds_of(ready, folds_for(ready.num_rows), seed)
    if settings.batch_size is None and ready.feed is ready.data:
        ready, parts = in_shared_size(ready), [in_shared_size(part) for part in parts]
    gp, data = ready.gp, ready.data
    exact = objective_of(risk, divergence, expectation, gp.likelihood)
    if is_solved(exact.loss, gp):
        check_positive_beta(value, beta_grid)
    from_elbo = hyperparameters == "from-elbo"
    fits = race_fits(settings, beta_grid, ready.num_rows, len(parts)) if value == "auto" else 1.0
    # A fit with a time budget counts as short, whether it is resumed or not.
    long = time_budget is None and is_long(gp, settings, ready.num_rows, fits + from_elbo)
    settings = replace(settings, thorough=long)
    begin = with_fresh_posterior(gp, diagonal) if from_elbo else gp
    judge, judges = judge_of(exact, ready), [judge_of(exact, part) for part in parts]

    folder = None if training.checkpoint is None else Path(training.checkpoint)
    exactness = precisions(training.precision, ready, settings.thorough)
    fixed = isinstance(model, FixedHyperparameters)
    given = ("donor" if fixed else hyperparameters, time_budget is not None)
    run_id = run_id_of(folder, ready, exact, settings, value, beta_grid, exactness, *given)
    with reporter(verbose if ready.team.leads else False) as report:
        bench = Workbench(ready, exactness, report, folder, run_id)
        main, elbo, before = bench.stages(exact, "stage"), None, [settings]
        bound = objective_of("elbo", "kl", None, gp.likelihood)
        if from_elbo:
            elbo = bench.stages(bound, "elbo")
        chunk = race_chunk(settings, len(parts)) if value == "auto" else settings.chunk
        if time_budget is not None:
            settings = replace(settings, chunk=chunk, deadline=began + time_budget, clock=clock)
            work = [BudgetPart(main, begin, fits)] + (
                [BudgetPart(elbo, gp, 1.0)] if elbo is not None else []
            )
            settings, *before = within_budget(settings, work)
        if elbo is not None:
            begin = with_fresh_posterior(elbo.run("ELBO", gp, before[0], 1.0).gp, diagonal)
        if start is None and training.time_budget is None and sees_components(exact.loss):
            weight = 1.0 if value == "auto" else float(value)
            begin = best_start(begin, main, settings, weight, num_starts(model))
        if value == "auto":
            folds = [Fold(begin, main, judge)] if judge is not None else []
            for number, (part, own_judge) in enumerate(zip(parts, judges, strict=True), start=1):
                own, first = replace(bench, ready=part), part.gp
                if from_elbo:
                    first = own.stages(bound, f"elbo{number}").run("ELBO", first, settings, 1.0).gp
                    first = with_fresh_posterior(first, diagonal)
                assert own_judge is not None
                folds.append(Fold(first, own.stages(exact, f"fold{number}"), own_judge))
            choice = select_beta(folds, settings, ready.num_rows, beta_grid, chunk, bool(parts))
            value, curve, held_out = choice.beta, choice.curve, choice.held_out
            trained = choice.trained or train_with_beta(begin, main, settings, choice, chunk)
        else:
            trained, curve = main.run("training", begin, settings, float(value), judge), {}
            held_out = None if judge is None else judge.rows(trained.gp)
    learned = with_columns(trained.gp, data.X.shape[1], columns)
    held, data = (
        None if part is None else one_row_per_value(own_columns(part, columns), learned)
        for part in (ready.held_out, data)
    )
    assert data is not None
    fitted = FittedGP(
        with_spread(learned, exact, data, float(value), held),
        ready.inputs,
        ready.targets,
        exact,
        float(value),
        curve,
        trained.history,
        trained.reason,
        clock() - began,
        held_out,
        names,
        max(ready.support, 0.0 if start is None else start.support or 0.0),
    )
    warn_of_collapse(fitted.gp, data)
    if folder is not None and not training.keep_checkpoint and ready.team.leads:
        remove_checkpoints(folder)
    return fitted


def check_together(
    model: Any, hyperparameters: Any, beta: Any, validation: Any, training: Any
) -> None:
    """Refuse incompatible arguments of `fit` before training; the arguments are those of `fit`."""
    known = ModelSpec | Exact | Coregionalised | FixedHyperparameters | FittedGP
    if not isinstance(model, known):
        raise WrongType(
            "model must be a Sparse, Deep, Decoupled, Exact or FixedHyperparameters, or what fit "
            f"returned to go on from, got a {type(model).__name__}"
        )
    if isinstance(model, FittedGP) and model.num_outputs > 1:
        raise DirectGPError(
            f"a model of {model.num_outputs} outputs cannot go on with one; use fit_outputs"
        )
    if not isinstance(training, Training):
        raise WrongType(f"training must be a Training, got a {type(training).__name__}")
    check_choice("hyperparameters", hyperparameters, ("joint", "from-elbo"))
    if isinstance(model, FixedHyperparameters) and hyperparameters != "joint":
        raise DirectGPError(
            f"hyperparameters={hyperparameters!r} has no effect on FixedHyperparameters; leave out "
            "one of them"
        )
    value, _ = beta_and_grid(beta)
    if training.patience is not None and validation is None and value != "auto":
        raise DirectGPError("patience needs held-out rows; give validation=0.1 too")


def _depth_and_form(model: Any) -> tuple[int, bool]:
    """The number of layers, and whether the covariance of a new q(u) is diagonal."""
    if isinstance(model, FittedGP):
        depth = model.gp.model.depth
        return depth, depth > 1
    return getattr(model, "depth", 1), model.mean_field
