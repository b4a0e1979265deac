"""`fit`: from a table of numbers to a trained Gaussian process, in one call."""

import os
import time
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directgp.data.stream import StreamedRows
from directgp.divergences import Divergence, divergences
from directgp.expectations import Expectation, choose_expectation, expectations
from directgp.fitted import FittedGP, check_choice
from directgp.kernels import Kernel
from directgp.likelihoods import Gaussian, Likelihood, likelihoods
from directgp.losses import Direct, Loss, Score, SquareLoss, losses
from directgp.models import SparseGP
from directgp.models.collapsed import CollapsedSquareLoss
from directgp.objective import Batch, Objective
from directgp.parameters import float64
from directgp.prepare import Prepared, prepare, with_fresh_posterior
from directgp.structure import Structure, joins
from directgp.training.checkpoint import fingerprint
from directgp.training.evaluate import team_scorer
from directgp.training.loop import GP, Guard, Settings
from directgp.training.padding import (
    can_widen,
    padded,
    padded_columns,
    padded_rows,
    with_columns,
)
from directgp.training.precision import mixed_is_safe, worth_mixing
from directgp.training.progress import reporter
from directgp.training.select_beta import beta_grid as default_grid
from directgp.training.select_beta import num_finalists, race_chunk, race_cost, select_beta
from directgp.training.stages import Stages

BATCH_SIZE = 1000
_EPOCHS = 60
_LEAST_STEPS = 1000  # 60 passes over a few thousand rows leave most tables under-trained


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
    features: str | None = None,
    feature_widths: tuple[int, ...] = (64, 64, 8),
    mean_inducing: int = 0,
    mixing: np.ndarray | None = None,
    hyperparameters: Literal["joint", "from-elbo"] | "FittedGP" = "joint",
    validation: float | tuple[Any, ...] | None = None,
    beta_grid: list[float] | None = None,
    epochs: float | int | None = None,
    max_steps: int = 2000,
    batch_size: int | None = BATCH_SIZE,
    learning_rate: float | int | None = None,
    patience: int | None = None,
    precision: Literal["auto", "float64", "mixed"] = "auto",
    sample_weight: Any = None,
    seed: int = 0,
    verbose: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    start: "FittedGP | None" = None,
    time_budget: float | int | None = None,
) -> FittedGP:
    """Train a sparse GP for `loss` + β·`divergence` and return it in the user's units.

    `beta` "auto" races the grid n, n/2, …, 0.01 on held-out rows (`validation`: a share, by
    default 10 %, or (X, y[, weight])); a number is used as it is. `hyperparameters` "joint" learns
    them with the posterior; "from-elbo" first fits the ELBO, then learns the posterior alone
    (`dlm` "fixed"); a `FittedGP` lends its own. Data with at most `batch_size` rows (or
    `batch_size=None`) is trained full-batch for up to `max_steps` steps, otherwise for `epochs`
    (None: 60, or as many as make 1000 steps).
    `checkpoint` names a folder: run again with the same arguments to resume after an interrupt.
    `start` goes on from an earlier fit (its model, likelihood and scales; everything is learned).
    `time_budget` (seconds, the choice of β included) makes training as long as fits in, measured
    on the first steps; it always does those, so it can be passed by the time they take to compile.

    `layers` ≥ 2 makes a deep model, its inner layers `width` wide (default min(30, inputs)):
    `deep` "sigma-points" is a deep sigma point process with `num_sites` sites of a learned
    `quadrature`, "samples" a deep GP with `num_sites` samples; `skip` shows the inputs to every
    layer. Left at None, `mean_field` is True and `learning_rate` 0.02 for several layers, False
    and 0.05 for one. `kernel` may be a tuple, one a layer. `features` "mlp" puts a network in
    front; `mean_inducing` adds inducing inputs for the mean alone. See docs/deep_models.md; for
    several outputs see `fit_outputs`, which gives `mixing`.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> fitted = fit(X, np.sin(6 * X[:, 0]), beta=1.0, max_steps=400)
    >>> bool(abs(fitted.predict([[0.5]]).mean[0] - np.sin(3.0)) < 0.05)
    True
    """
    clock = X.shards.team.clock if isinstance(X, StreamedRows) else time.monotonic
    began = clock()
    if learning_rate is None:
        learning_rate = 0.05 if layers == 1 else 0.02
    if time_budget is not None and not time_budget > 0:
        raise ValueError(f"time_budget must be a number of seconds above 0, got {time_budget!r}")
    _check_options(
        beta,
        mean,
        hyperparameters,
        precision,
        learning_rate,
        epochs,
        max_steps=max_steps,
        batch_size=batch_size,
        num_inducing=num_inducing,
        patience=patience,
        seed=seed,
        layers=layers,
        width=width,
        num_sites=num_sites,
    )
    if patience is not None and validation is None and beta != "auto":
        raise ValueError("patience needs held-out rows to look at; give validation=0.1 too")
    donor = hyperparameters.lend() if isinstance(hyperparameters, FittedGP) else None
    named = isinstance(likelihood, str)
    joins.lookup(deep)
    diagonal = layers > 1 if mean_field is None else mean_field
    ready = prepare(
        X,
        y,
        likelihoods.create(likelihood).for_targets(y) if named else likelihood,
        kernel=kernel,
        mean=mean,
        num_inducing=num_inducing,
        mean_field=diagonal,
        structure=Structure(
            layers,
            width,
            deep,
            num_sites,
            quadrature,
            skip,
            features,
            tuple(feature_widths),
            mean_inducing,
            mixing,
        ),
        validation=validation,
        hold_out=beta == "auto",
        donor=donor,
        sample_weight=sample_weight,
        seed=seed,
        start=None if start is None else start.lend(),
    )
    num_rows = ready.num_rows
    own_columns = ready.data.X.shape[1]
    full_batch = batch_size is None or batch_size >= num_rows
    ready = _padded(ready) if full_batch and ready.feed is ready.data else ready
    gp, data, likelihood = ready.gp, ready.data, ready.gp.likelihood

    risk: Loss = losses.resolve(loss)
    penalty: Divergence = divergences.resolve(divergence)
    if expectation is None:
        expectation = choose_expectation(risk.needs, likelihood)
    exact = Objective(risk, penalty, expectations.resolve(expectation), "float64")
    use_mixed = precision == "mixed" or (precision == "auto" and worth_mixing(gp))
    settings = _settings(num_rows, epochs, max_steps, batch_size, learning_rate, patience, seed)
    scorer = None
    if ready.held_out is not None:
        judged_by = Direct(risk.score)
        how = choose_expectation(judged_by.needs, likelihood)
        scorer = team_scorer(
            Objective(judged_by, penalty, how), ready.held_out, ready.team, ready.num_shards
        )

    folder = None if checkpoint is None else Path(checkpoint)
    given = "donor" if donor is not None else hyperparameters
    options = (exact, settings, beta, beta_grid, use_mixed, precision, given)
    options += (ready.num_shards,) if ready.num_shards > 1 else ()
    run_id = "" if folder is None else fingerprint(gp, options, data, ready.held_out)

    def stages(objective: Objective, prefix: str) -> Stages:
        mixed, guard = replace(objective, precision="mixed"), None
        if use_mixed and precision == "auto":
            guard = Guard(lambda now: ready.team.agree(mixed_is_safe(now, data)), objective)
        return Stages(
            mixed if use_mixed else objective,
            ready.feed,
            report,
            guard=guard,
            run_id=run_id,
            folder=folder,
            prefix=prefix,
            team=ready.team,
        )

    with reporter(verbose if ready.team.leads else False) as report:
        elbo = None
        if hyperparameters == "from-elbo":
            gibbs = losses.create("elbo")
            how = choose_expectation(gibbs.needs, likelihood)
            elbo = stages(Objective(gibbs, divergences.create("kl"), how, "float64"), "elbo")
            gp = with_fresh_posterior(elbo.run("ELBO", gp, settings, 1.0).gp, diagonal)
        main, chunk = stages(exact, "stage"), None
        if time_budget is not None:
            grid_size = len(beta_grid or default_grid(num_rows))
            cost = race_cost(grid_size, num_finalists(settings)) if beta == "auto" else 1.0
            chunk = race_chunk(settings) if beta == "auto" else settings.chunk
            settings = replace(settings, deadline=began + time_budget, clock=clock)
            settings = _affordable(main, gp, replace(settings, chunk=chunk), cost)
        if beta == "auto":
            assert scorer is not None
            choice = select_beta(gp, main, settings, num_rows, scorer.rows, beta_grid, chunk)
            beta, trained, curve = choice.beta, choice.trained, choice.curve
        else:
            trained, curve = main.run("training", gp, settings, float(beta), scorer), {}
        for part in (elbo, main):
            if part is not None:
                part.finish()
    held_out = None if scorer is None else scorer.rows(trained.gp)
    learned = with_columns(trained.gp, data.X.shape[1], own_columns)
    return FittedGP(
        _with_spread(learned, risk, _own_columns(data, own_columns), float(beta)),
        ready.inputs,
        ready.targets,
        exact,
        float(beta),
        curve,
        trained.history,
        trained.reason,
        clock() - began,
        held_out,
    )


def _padded(ready: Prepared) -> Prepared:
    """The same problem in a size that others have too, so that compiled programs are shared."""
    old = ready.data.X.shape[1]
    new = padded_columns(old) if can_widen(ready.gp) else old
    data, held_out = (
        part if part is None else padded(part, padded_rows(len(part.y)), new)
        for part in (ready.data, ready.held_out)
    )
    assert data is not None
    gp = with_columns(ready.gp, old, new)
    return ready._replace(gp=gp, data=data, held_out=held_out, feed=data)


def _own_columns(data: Batch, count: int) -> Batch:
    return data if data.X.shape[1] == count else replace(data, X=data.X[:, :count])


def _affordable(stages: Stages, gp: GP, settings: Settings, cost: float) -> Settings:
    """Settings for as many steps as the time left allows, after timing a chunk of them.

    The schedule of learning rates then ends with the budget: a run that is only cut off would
    end at a high rate.
    """
    stages.run("timing", gp, replace(settings, steps=settings.chunk), 1.0)
    began = settings.clock()
    stages.run("timing", gp, replace(settings, steps=settings.chunk), 1.0)
    now = settings.clock()
    a_step = max(now - began, 1e-6) / settings.chunk
    affordable = 0.9 * (settings.deadline - now) / (cost * a_step)
    steps = int(min(settings.steps, max(settings.chunk, affordable)))
    return replace(settings, steps=steps)


def _with_spread(gp: GP, loss: Loss, data: Batch, beta: float) -> GP:
    """Square loss says nothing of the spread: it is fitted afterwards, where noise is Gaussian.

    Solving for q(u) there also puts the mean at the optimum that training was heading for.
    """
    collapsible = isinstance(gp.model, SparseGP) and isinstance(gp.likelihood, Gaussian)
    if loss != Direct(SquareLoss()) or not collapsible:
        return gp
    return GP(*CollapsedSquareLoss().finish(gp.model, gp.likelihood, data, beta=beta))


def default_epochs(num_rows: int, batch_size: int = BATCH_SIZE) -> float | int:
    """Passes over rows that are more than a batch: 60, or as many as make 1000 steps."""
    return max(_EPOCHS, _LEAST_STEPS / (num_rows // batch_size))


def _settings(num_rows, epochs, max_steps, batch_size, learning_rate, patience, seed) -> Settings:
    if batch_size is None or batch_size >= num_rows:
        return Settings(max_steps, None, learning_rate, chunk=50, seed=seed, patience=patience)
    per_epoch = num_rows // batch_size
    epochs = default_epochs(num_rows, batch_size) if epochs is None else epochs
    steps = max(1, round(epochs * per_epoch))
    chunk = min(max(min(per_epoch, steps), 20), 100)
    return Settings(steps, batch_size, learning_rate, chunk=chunk, seed=seed, patience=patience)


def _check_options(
    beta, mean, hyperparameters, precision, learning_rate, epochs=None, **counts
) -> None:
    if beta != "auto" and not (isinstance(beta, Real) and 0 <= float(beta) < np.inf):
        raise ValueError(f"beta must be 'auto' or a number ≥ 0, got {beta!r}")
    check_choice("mean", mean, ("zero", "constant"))
    check_choice("precision", precision, ("auto", "float64", "mixed"))
    if not isinstance(hyperparameters, FittedGP):
        check_choice("hyperparameters", hyperparameters, ("joint", "from-elbo"))
    if not 0 < learning_rate < np.inf:
        raise ValueError(f"learning_rate must be positive, got {learning_rate}; use 0.05")
    if epochs is not None and not (isinstance(epochs, Real) and 0 < float(epochs) < np.inf):
        raise ValueError(f"epochs must be a number above 0, got {epochs!r}; use 60")
    for name, value in counts.items():
        least = 0 if name == "seed" else 1
        if value is not None and not (isinstance(value, Integral) and int(value) >= least):
            raise ValueError(f"{name} must be a whole number ≥ {least}, got {value!r}")
