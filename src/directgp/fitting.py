"""`fit`: from a table of numbers to a trained Gaussian process, in one call."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directgp.data import column_names
from directgp.data.stream import StreamedRows
from directgp.divergences import Divergence
from directgp.expectations import Expectation
from directgp.fitted import FittedGP
from directgp.fitting_options import BATCH_SIZE, check_beta, check_options, settings_for
from directgp.fitting_parts import (
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
from directgp.prepare import prepare, with_fresh_posterior
from directgp.spread import is_solved, to_go_on, with_spread
from directgp.structure import Structure, default_learning_rate, joins
from directgp.training.budget import Work, is_long, within_budget
from directgp.training.pace import QUICK
from directgp.training.padding import with_columns
from directgp.training.progress import reporter
from directgp.training.select_beta import race_chunk, race_fits, select_beta
from directgp.training.stages import forget


@float64
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
        hold_out=beta == "auto",
        donor=donor,
        sample_weight=sample_weight,
        seed=seed,
        start=None if start is None else to_go_on(start, losses.resolve(loss)).lend(),
    )
    columns = ready.data.X.shape[1]
    rate = default_learning_rate(depth) if learning_rate is None else learning_rate
    settings = settings_for(ready.num_rows, epochs, max_steps, batch_size, rate, patience, seed)
    settings = replace(settings, quick=QUICK if learning_rate is None else 1.0)
    if settings.batch_size is None and ready.feed is ready.data:
        ready = in_shared_size(ready)
    gp, data = ready.gp, ready.data
    exact = objective_of(loss, divergence, expectation, gp.likelihood)
    check_beta(beta, beta_grid, solved=is_solved(exact.loss, gp))
    from_elbo = hyperparameters == "from-elbo"
    fits = race_fits(settings, beta_grid, ready.num_rows) if beta == "auto" else 1.0
    # With a budget it is the budget that says how long; whether resumed or not, it is short.
    long = time_budget is None and is_long(gp, settings, ready.num_rows, fits + from_elbo)
    settings = replace(settings, thorough=long)
    begin = with_fresh_posterior(gp, diagonal) if from_elbo else gp
    judge = judge_of(exact, ready)

    folder = None if checkpoint is None else Path(checkpoint)
    exactness = precisions(precision, ready, settings.thorough)
    given = ("donor" if donor is not None else hyperparameters, time_budget is not None)
    run_id = run_id_of(folder, ready, exact, settings, beta, beta_grid, exactness, *given)
    with reporter(verbose if ready.team.leads else False) as report:
        bench = Workbench(ready, exactness, report, folder, run_id)
        main, elbo, before = bench.stages(exact, "stage"), None, [settings]
        if from_elbo:
            elbo = bench.stages(objective_of("elbo", "kl", None, gp.likelihood), "elbo")
        chunk = race_chunk(settings) if beta == "auto" else settings.chunk
        if time_budget is not None:
            settings = replace(settings, chunk=chunk, deadline=began + time_budget, clock=clock)
            work = [Work(main, begin, fits)] + ([Work(elbo, gp, 1.0)] if elbo is not None else [])
            settings, *before = within_budget(settings, work)
        if elbo is not None:
            begin = with_fresh_posterior(elbo.run("ELBO", gp, before[0], 1.0).gp, diagonal)
        if beta == "auto":
            assert judge is not None
            rows = ready.num_rows
            choice = select_beta(begin, main, settings, rows, judge.rows, beta_grid, chunk)
            beta, trained, curve = choice.beta, choice.trained, choice.curve
        else:
            trained, curve = main.run("training", begin, settings, float(beta), judge), {}
    learned = with_columns(trained.gp, data.X.shape[1], columns)
    fitted = FittedGP(
        with_spread(learned, exact.loss, own_columns(data, columns), float(beta)),
        ready.inputs,
        ready.targets,
        exact,
        float(beta),
        curve,
        trained.history,
        trained.reason,
        clock() - began,
        None if judge is None else judge.rows(trained.gp),
        names,
    )
    if folder is not None and not keep_checkpoint and ready.team.leads:
        forget(folder)
    return fitted
