"""`fit`: from a table of numbers to a trained Gaussian process, in one call."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from directgp.data import Standardiser, check_inputs, check_rows, check_weights
from directgp.divergences import Divergence, WhitenedGaussian, divergences
from directgp.expectations import Expectation, choose_expectation, expectations
from directgp.kernels import Kernel, kernels
from directgp.likelihoods import Likelihood, likelihoods
from directgp.losses import Direct, Loss, losses
from directgp.models import ConstantMean, SparseGP, ZeroMean
from directgp.objective import Batch, Objective
from directgp.parameters import float64, frozen
from directgp.predictive import Predictive
from directgp.training.checkpoint import fingerprint
from directgp.training.evaluate import Scorer, marginals
from directgp.training.initialise import default_num_inducing, inducing_inputs, typical_distance
from directgp.training.loop import GP, Guard, Settings
from directgp.training.precision import mixed_is_safe, worth_mixing
from directgp.training.progress import reporter
from directgp.training.select_beta import select_beta
from directgp.training.stages import Stages


@dataclass(frozen=True)
class FittedGP:
    """A trained model that speaks the user's units."""

    gp: GP
    inputs: Standardiser
    targets: Standardiser
    objective: Objective
    beta: float
    beta_curve: dict[float, float]
    history: dict[str, list[float]]
    reason: str
    seconds: float

    def predict(self, X: Any) -> Predictive:
        """The predictive distribution of y at every row of X; rows never influence each other."""
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        q = marginals(self.gp.model, self.inputs.forward(values))
        predictive = self.gp.likelihood.predictive(q.mean, q.variance, q.log_weights)
        if not self.gp.likelihood.standardise_targets:
            return predictive
        return predictive.affine(float(self.targets.scale[0]), float(self.targets.shift[0]))


@float64
def fit(
    X: Any,
    y: Any,
    *,
    loss: str | Loss = "direct-log",
    beta: float | Literal["auto"] = "auto",
    likelihood: str | Likelihood = "gaussian",
    kernel: str | Kernel = "matern52",
    mean: Literal["zero", "constant"] = "zero",
    divergence: str | Divergence = "kl",
    expectation: str | Expectation | None = None,
    num_inducing: int | None = None,
    mean_field: bool = False,
    hyperparameters: Literal["joint", "from-elbo"] | "FittedGP" = "joint",
    validation: float | tuple[Any, Any] | None = None,
    beta_grid: list[float] | None = None,
    epochs: int = 60,
    max_steps: int = 2000,
    batch_size: int | None = 1000,
    learning_rate: float = 0.05,
    patience: int | None = None,
    precision: Literal["auto", "float64", "mixed"] = "auto",
    sample_weight: Any = None,
    seed: int = 0,
    verbose: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FittedGP:
    """Train a sparse GP for `loss` + β·`divergence` and return it in the user's units.

    `beta` "auto" races the grid n, n/2, …, 0.01 on held-out rows (`validation`: a share, by
    default 10 %, or a pair (X, y)); a number is used as it is. `hyperparameters` "joint" learns
    them with the posterior; "from-elbo" first fits the ELBO, then learns the posterior alone
    (`dlm` "fixed"); a `FittedGP` lends its own. Data with at most `batch_size` rows (or
    `batch_size=None`) is trained full-batch for up to `max_steps` steps, otherwise for `epochs`.
    `checkpoint` names a folder: run again with the same arguments to resume after an interrupt.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> fitted = fit(X, np.sin(6 * X[:, 0]), beta=1.0, max_steps=400)
    >>> bool(abs(fitted.predict([[0.5]]).mean[0] - np.sin(3.0)) < 0.05)
    True
    """
    began = time.monotonic()
    X, likelihood = check_inputs(X), likelihoods.resolve(likelihood)
    y = likelihood.check_targets(check_rows(X, y))
    weight = check_weights(sample_weight, len(y))
    _check_options(beta, epochs, max_steps, batch_size, learning_rate, precision)
    X, y, weight, held_out = _hold_out(X, y, weight, validation, beta == "auto", seed)
    inputs = Standardiser.fit(X)
    targets = (
        Standardiser.fit(y[:, None])
        if likelihood.standardise_targets
        else Standardiser(np.zeros(1), np.ones(1))
    )
    data = _batch(inputs.forward(X), targets.forward(y[:, None])[:, 0], weight)

    donor = hyperparameters
    if donor == "from-elbo":
        donor = fit(
            X, y, loss="elbo", beta=1.0, likelihood=likelihood, kernel=kernel, mean=mean,
            expectation=None, num_inducing=num_inducing, mean_field=mean_field, epochs=epochs,
            max_steps=max_steps, batch_size=batch_size, learning_rate=learning_rate,
            precision=precision, sample_weight=weight, seed=seed, verbose=verbose,
            checkpoint=None if checkpoint is None else Path(checkpoint) / "elbo",
        )
    if isinstance(donor, FittedGP):
        gp = _with_fresh_posterior(donor.gp, mean_field)
        inputs, targets = donor.inputs, donor.targets
    else:
        gp = initial_gp(
            np.asarray(data.X), np.asarray(data.y), likelihood, kernel, mean,
            num_inducing, mean_field, seed,
        )

    loss = losses.resolve(loss)
    expectation = (
        choose_expectation(loss.needs, likelihood)
        if expectation is None
        else expectations.resolve(expectation)
    )
    divergence = divergences.resolve(divergence)
    exact = Objective(loss, divergence, expectation, "float64")
    mixed = Objective(loss, divergence, expectation, "mixed")
    use_mixed = precision == "mixed" or (precision == "auto" and worth_mixing(gp, data))
    guard = None
    if use_mixed and precision == "auto":
        guard = Guard(lambda current: mixed_is_safe(current, data), exact)

    settings = _settings(len(y), epochs, max_steps, batch_size, learning_rate, patience, seed)
    scorer = None
    if held_out is not None:
        held_X, held_y = held_out
        judged_by = Direct(loss.score)
        scorer = Scorer(
            Objective(judged_by, divergence, choose_expectation(judged_by.needs, likelihood)),
            _batch(inputs.forward(held_X), targets.forward(held_y[:, None])[:, 0], None),
        )

    run_id = "" if checkpoint is None else fingerprint(
        X, y, weight, repr((exact, gp, settings, beta, beta_grid, use_mixed, validation is None))
    )
    with reporter(verbose) as report:
        stages = Stages(
            mixed if use_mixed else exact, data, report, guard=guard, run_id=run_id,
            folder=None if checkpoint is None else Path(checkpoint),
        )
        if beta == "auto":
            assert scorer is not None
            choice = select_beta(gp, stages, settings, len(y), scorer, beta_grid)
            beta, trained, curve = choice.beta, choice.trained, choice.curve
        else:
            trained, curve = stages.run("training", gp, settings, float(beta), scorer), {}
        stages.finish()
    return FittedGP(
        trained.gp, inputs, targets, exact, float(beta), curve, trained.history, trained.reason,
        time.monotonic() - began,
    )


def initial_gp(
    X: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    kernel: str | Kernel,
    mean: str,
    num_inducing: int | None,
    mean_field: bool,
    seed: int,
) -> GP:
    """A sparse GP that has seen the data only to choose where to start (scaled units)."""
    number = default_num_inducing(len(X)) if num_inducing is None else num_inducing
    Z = inducing_inputs(X, number, seed)
    if isinstance(kernel, str):
        kernel = kernels.create(kernel, **_kernel_start(kernel, X, seed))
    start = likelihood.initial_latent(y)
    mean_function = ConstantMean(start) if mean == "constant" else ZeroMean()
    posterior = WhitenedGaussian.prior(len(Z), likelihood.num_latents, mean_field)
    return GP(SparseGP(kernel, jnp.asarray(Z), posterior, mean_function), likelihood)


def _kernel_start(name: str, X: np.ndarray, seed: int) -> dict[str, Any]:
    if name == "linear":
        return {"variance": np.full(X.shape[1], 1.0 / X.shape[1])}
    return {"lengthscale": np.full(X.shape[1], typical_distance(X, seed))}


def _with_fresh_posterior(gp: GP, mean_field: bool) -> GP:
    """The same hyperparameters, held fixed, and a posterior that starts at the prior."""
    model = gp.model
    latents, size = model.posterior.mean.shape
    fresh = WhitenedGaussian.prior(size, latents, mean_field)
    fixed = SparseGP(frozen(model.kernel), frozen(model.inducing), fresh, frozen(model.mean_function))
    return GP(fixed, frozen(gp.likelihood))


def _batch(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Batch:
    weight = np.ones(len(y)) if weight is None else weight
    return Batch(jnp.asarray(X), jnp.asarray(y), jnp.asarray(weight))


def _hold_out(X, y, weight, validation, needed, seed):
    """Split off validation rows: given, a share, or (when β is to be chosen) a tenth."""
    if isinstance(validation, tuple):
        held_X = check_inputs(validation[0], num_columns=X.shape[1])
        return X, y, weight, (held_X, check_rows(held_X, validation[1], at_least=1))
    share = 0.1 if validation is None and needed else validation
    if share is None:
        return X, y, weight, None
    if not 0 < share < 1:
        raise ValueError(f"validation must be a share between 0 and 1, got {share}; use 0.1")
    count = max(1, round(share * len(y)))
    if len(y) - count < 2:
        raise ValueError(
            f"{len(y)} rows are too few to hold out validation rows; give beta=1.0 or more rows"
        )
    order = np.random.default_rng(seed).permutation(len(y))
    held, kept = order[:count], np.sort(order[count:])
    return X[kept], y[kept], weight[kept], (X[held], y[held])


def _settings(num_rows, epochs, max_steps, batch_size, learning_rate, patience, seed) -> Settings:
    if batch_size is None or batch_size >= num_rows:
        return Settings(max_steps, None, learning_rate, chunk=50, seed=seed, patience=patience)
    per_epoch = num_rows // batch_size
    chunk = min(max(per_epoch, 20), 100)
    return Settings(
        epochs * per_epoch, batch_size, learning_rate, chunk=chunk, seed=seed, patience=patience
    )


def _check_options(beta, epochs, max_steps, batch_size, learning_rate, precision) -> None:
    if beta != "auto" and not (isinstance(beta, int | float) and np.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta must be 'auto' or a number ≥ 0, got {beta!r}")
    for name, value in {"epochs": epochs, "max_steps": max_steps, "batch_size": batch_size}.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not learning_rate > 0:
        raise ValueError(f"learning_rate must be positive, got {learning_rate}; use 0.05")
    if precision not in ("auto", "float64", "mixed"):
        raise ValueError(f"precision must be 'auto', 'float64' or 'mixed', got {precision!r}")
