"""`fit`: from a table of numbers to a trained Gaussian process, in one call."""

import os
import time
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directgp.data import Standardiser, check_inputs
from directgp.divergences import Divergence, divergences
from directgp.expectations import Expectation, choose_expectation, expectations
from directgp.kernels import Kernel
from directgp.likelihoods import Gaussian, Likelihood, likelihoods
from directgp.losses import Direct, Loss, SquareLoss, losses
from directgp.models import Conditioned
from directgp.models.collapsed import CollapsedSquareLoss
from directgp.objective import Batch, Objective
from directgp.parameters import float64
from directgp.predictive import Predictive
from directgp.prepare import Donor, prepare, with_fresh_posterior
from directgp.training.checkpoint import fingerprint
from directgp.training.evaluate import Scorer, condition, marginals
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
    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> Predictive:
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

    def lend(self) -> Donor:
        """These hyperparameters, for another fit to hold fixed."""
        return Donor(self.gp, self.inputs, self.targets)


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
    epochs: int | float = 60,
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
        epochs,
        max_steps=max_steps,
        batch_size=batch_size,
        num_inducing=num_inducing,
        patience=patience,
        seed=seed,
    )
    if patience is not None and validation is None and beta != "auto":
        raise ValueError("patience needs held-out rows to look at; give validation=0.1 too")
    donor = hyperparameters.lend() if isinstance(hyperparameters, FittedGP) else None
    named = isinstance(likelihood, str)
    ready = prepare(
        X,
        y,
        likelihoods.create(likelihood).for_targets(y) if named else likelihood,
        kernel=kernel,
        mean=mean,
        num_inducing=num_inducing,
        mean_field=mean_field,
        validation=validation,
        hold_out=beta == "auto",
        donor=donor,
        sample_weight=sample_weight,
        seed=seed,
    )
    gp, data, likelihood = ready.gp, ready.data, ready.gp.likelihood
    num_rows = ready.num_rows

    risk: Loss = losses.resolve(loss)
    penalty: Divergence = divergences.resolve(divergence)
    if expectation is None:
        expectation = choose_expectation(risk.needs, likelihood)
    exact = Objective(risk, penalty, expectations.resolve(expectation), "float64")
    use_mixed = precision == "mixed" or (precision == "auto" and worth_mixing(gp, data))
    settings = _settings(num_rows, epochs, max_steps, batch_size, learning_rate, patience, seed)
    scorer = None
    if ready.held_out is not None:
        judged_by = Direct(risk.score)
        scorer = Scorer(
            Objective(judged_by, penalty, choose_expectation(judged_by.needs, likelihood)),
            ready.held_out,
        )

    folder = None if checkpoint is None else Path(checkpoint)
    given = "donor" if donor is not None else hyperparameters
    options = (exact, settings, beta, beta_grid, use_mixed, precision, given)
    run_id = "" if folder is None else fingerprint(gp, options, data, ready.held_out)

    def stages(objective: Objective, prefix: str) -> Stages:
        mixed, guard = replace(objective, precision="mixed"), None
        if use_mixed and precision == "auto":
            guard = Guard(lambda current: mixed_is_safe(current, data), objective)
        return Stages(
            mixed if use_mixed else objective,
            ready.feed,
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
            gp = with_fresh_posterior(elbo.run("ELBO", gp, settings, 1.0).gp, mean_field)
        main = stages(exact, "stage")
        if beta == "auto":
            assert scorer is not None
            choice = select_beta(gp, main, settings, num_rows, scorer, beta_grid)
            beta, trained, curve = choice.beta, choice.trained, choice.curve
        else:
            trained, curve = main.run("training", gp, settings, float(beta), scorer), {}
        for part in (elbo, main):
            if part is not None:
                part.finish()
    return FittedGP(
        _with_spread(trained.gp, risk, data, float(beta)),
        ready.inputs,
        ready.targets,
        exact,
        float(beta),
        curve,
        trained.history,
        trained.reason,
        time.monotonic() - began,
    )


def _with_spread(gp: GP, loss: Loss, data: Batch, beta: float) -> GP:
    """Square loss says nothing of the spread: it is fitted afterwards, where noise is Gaussian.

    Solving for q(u) there also puts the mean at the optimum that training was heading for.
    """
    if loss != Direct(SquareLoss()) or not isinstance(gp.likelihood, Gaussian):
        return gp
    return GP(*CollapsedSquareLoss().finish(gp.model, gp.likelihood, data, beta=beta))


def _settings(num_rows, epochs, max_steps, batch_size, learning_rate, patience, seed) -> Settings:
    if batch_size is None or batch_size >= num_rows:
        return Settings(max_steps, None, learning_rate, chunk=50, seed=seed, patience=patience)
    per_epoch = num_rows // batch_size
    steps = max(1, round(epochs * per_epoch))
    chunk = min(max(min(per_epoch, steps), 20), 100)
    return Settings(steps, batch_size, learning_rate, chunk=chunk, seed=seed, patience=patience)


def _check_options(
    beta, mean, hyperparameters, precision, learning_rate, epochs=60, **counts
) -> None:
    if beta != "auto" and not (isinstance(beta, Real) and 0 <= float(beta) < np.inf):
        raise ValueError(f"beta must be 'auto' or a number ≥ 0, got {beta!r}")
    _check_choice("mean", mean, ("zero", "constant"))
    _check_choice("precision", precision, ("auto", "float64", "mixed"))
    if not isinstance(hyperparameters, FittedGP):
        _check_choice("hyperparameters", hyperparameters, ("joint", "from-elbo"))
    if not 0 < learning_rate < np.inf:
        raise ValueError(f"learning_rate must be positive, got {learning_rate}; use 0.05")
    if not (isinstance(epochs, Real) and 0 < float(epochs) < np.inf):
        raise ValueError(f"epochs must be a number above 0, got {epochs!r}; use 60")
    for name, value in counts.items():
        least = 0 if name == "seed" else 1
        if value is not None and not (isinstance(value, Integral) and int(value) >= least):
            raise ValueError(f"{name} must be a whole number ≥ {least}, got {value!r}")


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
