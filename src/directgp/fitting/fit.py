"""`fit`: from a table of numbers to a trained Gaussian process, in one call."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directgp.divergences import Divergence
from directgp.expectations import Expectation
from directgp.fitting.fitted import FittedGP
from directgp.fitting.folds import folds_of, num_folds
from directgp.fitting.mixture_check import warn_of_collapse
from directgp.fitting.options import BATCH_SIZE, check_beta, check_options, settings_for
from directgp.fitting.prepare import prepare, with_fresh_posterior
from directgp.fitting.square_loss_variance import is_solved, to_go_on, with_spread
from directgp.fitting.starts import best_start
from directgp.fitting.structure import Structure, default_learning_rate, joins
from directgp.fitting.workbench import (
    Workbench,
    in_shared_size,
    judge_of,
    objective_of,
    own_columns,
    precisions,
    run_id_of,
)
from directgp.kernels import Kernel
from directgp.likelihoods import Likelihood, likelihoods
from directgp.losses import Loss, Score, losses
from directgp.parameters import float64
from directgp.tables import column_names
from directgp.tables.stream import StreamedRows
from directgp.training.budget import Work, is_long, within_budget
from directgp.training.folder_lock import holds_checkpoint
from directgp.training.learning_rates import QUICK
from directgp.training.padding import with_columns
from directgp.training.progress import reporter
from directgp.training.resumable import forget
from directgp.training.select_beta import (
    Fold,
    race_chunk,
    race_fits,
    select_beta,
    train_with_beta,
)


@float64
@holds_checkpoint(lambda X: not isinstance(X, StreamedRows) or X.shards.team.leads)
def fit(
    X: Any,
    y: Any,
    *,
    loss: str | Loss | Score = "direct-log",
    beta: float | Literal["auto"] = "auto",
    likelihood: str | Likelihood = "gaussian",
    kernel: str | Kernel | tuple[str | Kernel, ...] = "matern52",
    mean: Literal["zero", "constant"] = "zero",
    divergence: str | Divergence = "kl",
    expectation: str | Expectation | None = None,
    num_inducing: int | None = None,
    mean_field: bool | None = None,
    layers: int = 1,
    width: int | None = None,
    deep: str = "sigma-points",
    num_sites: int = 8,
    quadrature: str = "qr3",
    skip: bool = False,
    own_kernels: bool = False,
    features: str | None = None,
    feature_widths: tuple[int, ...] = (64, 64, 8),
    mean_inducing: int = 0,
    mixing: np.ndarray | None = None,
    hyperparameters: Literal["joint", "from-elbo"] | "FittedGP" = "joint",
    validation: float | tuple[Any, ...] | None = None,
    beta_grid: list[float] | None = None,
    epochs: float | int | None = None,
    max_steps: int | None = None,
    batch_size: int | None = BATCH_SIZE,
    learning_rate: float | int | None = None,
    patience: int | None = None,
    precision: Literal["auto", "float64", "mixed"] = "auto",
    sample_weight: Any = None,
    seed: int = 0,
    verbose: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep_checkpoint: bool = False,
    start: "FittedGP | None" = None,
    time_budget: float | int | None = None,
) -> FittedGP:
    """Train a sparse GP for `loss` + β·`divergence` and return it in the user's units.

    `beta` "auto" races the grid n, n/2, …, 0.01 on held-out rows (`validation`: a share, by
    default 10 %, or (X, y[, weight])); a number is used as it is. `hyperparameters` "joint" learns
    them with the posterior; "from-elbo" first fits the ELBO, then learns the posterior alone
    (`dlm` "fixed"); a `FittedGP` lends its own. Data with at most `batch_size` rows (or
    `batch_size=None`) is trained full-batch for up to `max_steps` steps (None: 2000), otherwise for
    `epochs` (None: 60, or as many as make 1000 steps).
    `checkpoint` names a folder: run again with the same arguments to resume after an interrupt.
    It is emptied at the end, unless `keep_checkpoint`: then the same call gives the same fit again
    without training, until you delete the folder.
    `start` goes on from an earlier fit (its model, likelihood and scales; everything is learned).
    `time_budget` (seconds, ELBO and choice of β included) makes training as long as fits in,
    measured on the first steps; it always does those, so it can be passed by the time they take to
    compile. A resumed fit has the number of steps it began with.
    An option that would be about nothing (`width` with one layer, `beta_grid` with β given,
    `kernel` beside `start` or beside a fit that lends its hyperparameters, `epochs` of a full
    batch, `max_steps` of mini-batches unless `epochs` is given too) is refused, and so is a
    `learning_rate` above 1.

    `layers` ≥ 2 makes a deep model, its inner layers `width` wide (default min(30, inputs)):
    `deep` "sigma-points" is a deep sigma point process with `num_sites` sites of a learned
    `quadrature`, "samples" a deep GP with `num_sites` samples; `skip` shows the inputs to every
    layer; `own_kernels` gives each inner output a kernel and inducing inputs of its own. Left at
    None, `mean_field` is True and `learning_rate` 0.02 for several layers, False and 0.05 for one;
    then the kernel and the mean of q(u) of a single sparse GP move three times as fast. A rate that
    is given holds for all parts.
    `kernel` may be a tuple, one a layer. `features` "mlp" puts a network in front; `mean_inducing`
    adds inducing inputs for the mean alone. See docs/deep_models.md; for several outputs see
    `fit_outputs`, which gives `mixing`.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> fitted = fit(X, np.sin(6 * X[:, 0]), beta=1.0, max_steps=400)
    >>> bool(abs(fitted.predict([[0.5]]).mean[0] - np.sin(3.0)) < 0.05)
    True
    """
    check_options(locals())  # first of all, while these are the arguments
    names = column_names(X)
    clock = X.shards.team.clock if isinstance(X, StreamedRows) else time.monotonic
    began = clock()
    depth = layers if start is None else start.gp.model.depth
    diagonal = depth > 1 if mean_field is None else mean_field
    joins.lookup(deep)
    structure = Structure(
        layers, width, deep, num_sites, quadrature, skip, own_kernels, features,
        tuple(feature_widths), mean_inducing, mixing,
    )  # fmt: skip
    # Rows that were seen before cannot be held out; a budget and layers leave no time for folds.
    needs_held_out = not (validation is None and patience is None and start is None)
    single = needs_held_out or isinstance(X, StreamedRows) or depth > 1 or time_budget is not None

    def folds_for(rows: int) -> int:
        return num_folds(rows, batch_size) if beta == "auto" and not single else 0

    named = isinstance(likelihood, str)
    donor = hyperparameters.lend() if isinstance(hyperparameters, FittedGP) else None
    ready = prepare(
        X,
        y,
        likelihoods.create(likelihood).for_targets(y) if named else likelihood,
        kernel=kernel,
        mean=mean,
        num_inducing=num_inducing,
        mean_field=diagonal,
        structure=structure,
        validation=validation,
        hold_out=lambda rows: beta == "auto" and folds_for(rows) == 0,
        donor=donor,
        sample_weight=sample_weight,
        seed=seed,
        start=None if start is None else to_go_on(start, losses.resolve(loss)).lend(),
    )
    columns = ready.data.X.shape[1]
    rate = default_learning_rate(depth) if learning_rate is None else learning_rate
    settings = settings_for(ready.num_rows, epochs, max_steps, batch_size, rate, patience, seed)
    settings = replace(settings, quick=QUICK if learning_rate is None else 1.0)
    parts = folds_of(ready, folds_for(ready.num_rows), seed)
    if settings.batch_size is None and ready.feed is ready.data:
        ready, parts = in_shared_size(ready), [in_shared_size(part) for part in parts]
    gp, data = ready.gp, ready.data
    exact = objective_of(loss, divergence, expectation, gp.likelihood)
    check_beta(beta, beta_grid, solved=is_solved(exact.loss, gp))
    from_elbo = hyperparameters == "from-elbo"
    fits = race_fits(settings, beta_grid, ready.num_rows, len(parts)) if beta == "auto" else 1.0
    # With a budget it is the budget that says how long; whether resumed or not, it is short.
    long = time_budget is None and is_long(gp, settings, ready.num_rows, fits + from_elbo)
    settings = replace(settings, thorough=long)
    begin = with_fresh_posterior(gp, diagonal) if from_elbo else gp
    judge, judges = judge_of(exact, ready), [judge_of(exact, part) for part in parts]

    folder = None if checkpoint is None else Path(checkpoint)
    exactness = precisions(precision, ready, settings.thorough)
    given = ("donor" if donor is not None else hyperparameters, time_budget is not None)
    run_id = run_id_of(folder, ready, exact, settings, beta, beta_grid, exactness, *given)
    with reporter(verbose if ready.team.leads else False) as report:
        bench = Workbench(ready, exactness, report, folder, run_id)
        main, elbo, before = bench.stages(exact, "stage"), None, [settings]
        bound = objective_of("elbo", "kl", None, gp.likelihood)
        if from_elbo:
            elbo = bench.stages(bound, "elbo")
        chunk = race_chunk(settings, len(parts)) if beta == "auto" else settings.chunk
        if time_budget is not None:
            settings = replace(settings, chunk=chunk, deadline=began + time_budget, clock=clock)
            work = [Work(main, begin, fits)] + ([Work(elbo, gp, 1.0)] if elbo is not None else [])
            settings, *before = within_budget(settings, work)
        if elbo is not None:
            begin = with_fresh_posterior(elbo.run("ELBO", gp, before[0], 1.0).gp, diagonal)
        if start is None and time_budget is None:
            begin = best_start(begin, main, settings, 1.0 if beta == "auto" else float(beta))
        if beta == "auto":
            folds = [Fold(begin, main, judge)] if judge is not None else []
            for number, (part, own_judge) in enumerate(zip(parts, judges, strict=True), start=1):
                own, first = replace(bench, ready=part), part.gp
                if from_elbo:
                    first = own.stages(bound, f"elbo{number}").run("ELBO", first, settings, 1.0).gp
                    first = with_fresh_posterior(first, diagonal)
                assert own_judge is not None
                folds.append(Fold(first, own.stages(exact, f"fold{number}"), own_judge))
            choice = select_beta(folds, settings, ready.num_rows, beta_grid, chunk, bool(parts))
            beta, curve, held_out = choice.beta, choice.curve, choice.held_out
            trained = choice.trained or train_with_beta(begin, main, settings, choice, chunk)
        else:
            trained, curve = main.run("training", begin, settings, float(beta), judge), {}
            held_out = None if judge is None else judge.rows(trained.gp)
    learned = with_columns(trained.gp, data.X.shape[1], columns)
    held = None if ready.held_out is None else own_columns(ready.held_out, columns)
    fitted = FittedGP(
        with_spread(learned, exact, own_columns(data, columns), float(beta), held),
        ready.inputs,
        ready.targets,
        exact,
        float(beta),
        curve,
        trained.history,
        trained.reason,
        clock() - began,
        held_out,
        names,
        max(ready.support, 0.0 if start is None else start.support or 0.0),
    )
    warn_of_collapse(fitted.gp, own_columns(data, columns))
    if folder is not None and not keep_checkpoint and ready.team.leads:
        forget(folder)
    return fitted
