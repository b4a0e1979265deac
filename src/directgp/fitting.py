"""`fit`: from a table of numbers to a trained Gaussian process, in one call."""

import os
import time
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
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
from directgp.models import Conditioned, ConstantMean, SparseGP, ZeroMean
from directgp.objective import Batch, Objective
from directgp.parameters import float64, frozen
from directgp.predictive import Predictive
from directgp.training.checkpoint import fingerprint
from directgp.training.evaluate import Scorer, condition, marginals
from directgp.training.initialise import default_num_inducing, inducing_inputs, typical_distance
from directgp.training.loop import GP, Guard, History, Settings
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
    history: History
    reason: str
    seconds: float

    _ready: dict[str, Conditioned] = field(default_factory=dict, repr=False, compare=False)

    @float64
    def predict(
        self, X: Any, *, precision: Literal["float64", "mixed"] = "float64"
    ) -> Predictive:
        """The predictive distribution of y at every row of X; rows never influence each other.

        "mixed" precision is faster for very many rows and good to about 4 digits.
        """
        _check_choice("precision", precision, ("float64", "mixed"))
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        if precision not in self._ready:
            self._ready[precision] = condition(self.gp.model, precision)
        q = marginals(self._ready[precision], self.inputs.forward(values))
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
    _check_options(
        beta,
        mean,
        hyperparameters,
        precision,
        learning_rate,
        epochs=epochs,
        max_steps=max_steps,
        batch_size=batch_size,
        num_inducing=num_inducing,
        patience=patience,
        seed=seed,
    )
    donor = hyperparameters if isinstance(hyperparameters, FittedGP) else None
    likelihood = likelihoods.resolve(likelihood) if donor is None else donor.gp.likelihood
    X = check_inputs(X, None if donor is None else len(donor.inputs.shift))
    y = likelihood.check_targets(check_rows(X, y))
    X, y, weight = _without_weightless(X, y, check_weights(sample_weight, len(y)))
    X, y, weight, held_out = _hold_out(X, y, weight, validation, beta == "auto", seed, likelihood)
    if donor is None:
        inputs, targets = Standardiser.fit(X), _target_scale(y, likelihood)
    else:
        inputs, targets = donor.inputs, donor.targets
    data = _batch(inputs, targets, X, y, weight)
    if donor is None:
        gp = initial_gp(
            np.asarray(data.X),
            np.asarray(data.y),
            likelihood,
            kernel,
            mean,
            num_inducing,
            mean_field,
            seed,
        )
    else:
        gp = _with_fresh_posterior(donor.gp, mean_field)

    loss, divergence = losses.resolve(loss), divergences.resolve(divergence)
    if expectation is None:
        expectation = choose_expectation(loss.needs, likelihood)
    exact = Objective(loss, divergence, expectations.resolve(expectation), "float64")
    use_mixed = precision == "mixed" or (precision == "auto" and worth_mixing(gp, data))
    settings = _settings(len(y), epochs, max_steps, batch_size, learning_rate, patience, seed)
    scorer = None
    if held_out is not None:
        judged_by = Direct(loss.score)
        scorer = Scorer(
            Objective(judged_by, divergence, choose_expectation(judged_by.needs, likelihood)),
            _batch(inputs, targets, *held_out),
        )

    folder = None if checkpoint is None else Path(checkpoint)
    given = "donor" if donor is not None else hyperparameters
    options = (exact, settings, beta, beta_grid, use_mixed, precision, given)
    run_id = "" if folder is None else fingerprint(gp, options, data, held_out)

    def stages(objective: Objective, prefix: str) -> Stages:
        mixed, guard = replace(objective, precision="mixed"), None
        if use_mixed and precision == "auto":
            guard = Guard(lambda current: mixed_is_safe(current, data), objective)
        return Stages(
            mixed if use_mixed else objective,
            data,
            report,
            guard=guard,
            run_id=run_id,
            folder=folder,
            prefix=prefix,
        )

    with reporter(verbose) as report:
        elbo = None
        if hyperparameters == "from-elbo":
            gibbs = losses.create("elbo")
            how = choose_expectation(gibbs.needs, likelihood)
            elbo = stages(Objective(gibbs, divergences.create("kl"), how, "float64"), "elbo")
            gp = _with_fresh_posterior(elbo.run("ELBO", gp, settings, 1.0).gp, mean_field)
        main = stages(exact, "stage")
        if beta == "auto":
            assert scorer is not None
            choice = select_beta(gp, main, settings, len(y), scorer, beta_grid)
            beta, trained, curve = choice.beta, choice.trained, choice.curve
        else:
            trained, curve = main.run("training", gp, settings, float(beta), scorer), {}
        for part in (elbo, main):
            if part is not None:
                part.finish()
    return FittedGP(
        trained.gp,
        inputs,
        targets,
        exact,
        float(beta),
        curve,
        trained.history,
        trained.reason,
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
    kernel, inducing, mean = frozen((model.kernel, model.inducing, model.mean_function))
    return GP(SparseGP(kernel, inducing, fresh, mean), frozen(gp.likelihood))


def _target_scale(y: np.ndarray, likelihood: Likelihood) -> Standardiser:
    if not likelihood.standardise_targets:
        return Standardiser(np.zeros(1), np.ones(1))
    targets = Standardiser.fit(y[:, None])
    if not 1e-140 < targets.scale[0] < 1e140:
        raise ValueError(
            f"y varies by {targets.scale[0]:.3g}, whose square is not a usable number; "
            "give y in other units"
        )
    return targets


def _batch(inputs: Standardiser, targets: Standardiser, X, y, weight) -> Batch:
    scaled_y = targets.forward(y[:, None])[:, 0]
    return Batch(jnp.asarray(inputs.forward(X)), jnp.asarray(scaled_y), jnp.asarray(weight))


def _without_weightless(X: np.ndarray, y: np.ndarray, weight: np.ndarray):
    """Rows of weight 0 say nothing: they must not move scales, inducing points or β either."""
    if (weight > 0).all():
        return X, y, weight
    kept = weight > 0
    if kept.sum() < 2:
        raise ValueError(f"at least 2 rows need a weight above 0, got {kept.sum()}")
    return X[kept], y[kept], weight[kept]


def _hold_out(X, y, weight, validation, needed, seed, likelihood: Likelihood):
    """Split off validation rows: given, a share, or (when β is to be chosen) a tenth."""
    if isinstance(validation, tuple | list):
        if len(validation) != 2:
            raise ValueError(f"validation must be a pair (X, y), got {len(validation)} things")
        held_X = check_inputs(validation[0], num_columns=X.shape[1])
        held_y = likelihood.check_targets(check_rows(held_X, validation[1], at_least=1))
        return X, y, weight, (held_X, held_y, np.ones(len(held_y)))
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
    return X[kept], y[kept], weight[kept], (X[held], y[held], weight[held])


def _settings(num_rows, epochs, max_steps, batch_size, learning_rate, patience, seed) -> Settings:
    if batch_size is None or batch_size >= num_rows:
        return Settings(max_steps, None, learning_rate, chunk=50, seed=seed, patience=patience)
    per_epoch = num_rows // batch_size
    chunk = min(max(per_epoch, 20), 100)
    return Settings(
        epochs * per_epoch, batch_size, learning_rate, chunk=chunk, seed=seed, patience=patience
    )


def _check_options(
    beta, mean, hyperparameters, precision, learning_rate, **counts: int | None
) -> None:
    if beta != "auto" and not (isinstance(beta, Real) and 0 <= float(beta) < np.inf):
        raise ValueError(f"beta must be 'auto' or a number ≥ 0, got {beta!r}")
    _check_choice("mean", mean, ("zero", "constant"))
    _check_choice("precision", precision, ("auto", "float64", "mixed"))
    if not isinstance(hyperparameters, FittedGP):
        _check_choice("hyperparameters", hyperparameters, ("joint", "from-elbo"))
    if not 0 < learning_rate < np.inf:
        raise ValueError(f"learning_rate must be positive, got {learning_rate}; use 0.05")
    for name, value in counts.items():
        least = 0 if name == "seed" else 1
        if value is not None and not (isinstance(value, Integral) and value >= least):
            raise ValueError(f"{name} must be a whole number ≥ {least}, got {value!r}")


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
