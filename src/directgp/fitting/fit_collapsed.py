"""`fit_collapsed`: regression whose q(u) is solved in closed form while hyperparameters train."""

import math
import time
from dataclasses import replace
from typing import Any, Literal, cast

import equinox as eqx
import numpy as np

from directgp.collapsed import FITC, Collapsed, CollapsedBound, CollapsedSquareLoss
from directgp.divergences import KL
from directgp.errors import DirectGPError
from directgp.expectations import ClosedForm
from directgp.fitting.fitted import FittedGP
from directgp.fitting.options import check_beta, check_options, full_batch
from directgp.fitting.prepare import Prepared, prepare
from directgp.fitting.specs import Structure
from directgp.kernels import Kernel
from directgp.likelihoods import Gaussian
from directgp.losses import Direct
from directgp.models import SparseGP
from directgp.objective import Objective
from directgp.parameters import float64, lent, thawed
from directgp.registry import Registry
from directgp.tables import column_names
from directgp.training.beta_ranking import ranked
from directgp.training.evaluate import Scorer
from directgp.training.loop import GP, Settings, Trained, no_history
from directgp.training.progress import reporter
from directgp.training.resumable import Stages
from directgp.training.select_beta import beta_grid as default_grid
from directgp.training.select_beta import judged

collapsed = Registry("collapsed objective")
collapsed.register("elbo")(CollapsedBound)
collapsed.register("fitc")(FITC)
collapsed.register("direct-square")(CollapsedSquareLoss)

_GRID_SHARE = 2.5
"""What the whole grid of β may cost after the first fit, in fits."""


@float64
def fit_collapsed(
    X: Any,
    y: Any,
    *,
    objective: str | Collapsed = "elbo",
    beta: float | Literal["auto"] = 1.0,
    kernel: str | Kernel = "matern52",
    mean: Literal["zero", "constant"] = "zero",
    num_inducing: int | None = None,
    hyperparameters: Literal["joint"] | FittedGP = "joint",
    validation: float | tuple[Any, Any] | None = None,
    beta_grid: list[float] | None = None,
    max_steps: int = 1000,
    learning_rate: float = 0.05,
    seed: int = 0,
    verbose: bool | None = None,
) -> FittedGP:
    """Full-batch sparse GP regression with the best q(u) at every step (`dlm` section 2).

    `objective` "elbo" is Titsias' bound (for any β), "fitc" the FITC marginal likelihood (where
    β has no meaning and must be 1), "direct-square" the square-loss DLM with its closed-form
    mean; it keeps the inducing inputs where k-means puts them, because moved for the square loss
    alone they follow the training rows. With `hyperparameters` a `FittedGP`, its own are kept
    (`dlm` "fixed") and nothing is trained. `beta` "auto" follows the grid n, n/2, …, 0.01 with
    warm starts and keeps what is best on held-out rows.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> fitted = fit_collapsed(X, np.sin(6 * X[:, 0]), max_steps=200)
    >>> bool(abs(fitted.predict([[0.5]]).mean[0] - np.sin(3.0)) < 0.05)
    True
    """
    check_options(locals(), ways=("joint",))  # first of all, while these are the arguments
    began = time.monotonic()
    solved = collapsed.resolve(objective)
    if isinstance(solved, FITC) and beta != 1:
        raise DirectGPError(f"FITC has no weight β, got beta={beta!r}; use beta=1.0")
    check_beta(beta, beta_grid, solved=True)
    donor = hyperparameters.lend() if isinstance(hyperparameters, FittedGP) else None
    ready = prepare(
        X,
        y,
        Gaussian(),
        kernel=kernel,
        mean=mean,
        num_inducing=num_inducing,
        mean_field=False,
        structure=Structure(),
        validation=validation,
        hold_out=lambda rows: beta == "auto",
        donor=donor,
        sample_weight=None,
        seed=seed,
    )
    settings = full_batch(max_steps, learning_rate, seed=seed)
    judge = None
    if ready.held_out is not None:
        judged_by = Direct(solved.objective.loss.score)
        judge = Scorer(Objective(judged_by, KL(), ClosedForm()), ready.held_out)
    with reporter(verbose) as report:
        stages = Stages(solved, ready.data, report)
        path = _Path(solved, ready, None if donor else stages, settings)
        if beta == "auto":
            assert judge is not None
            beta, fitted, curve = path.best_of(beta_grid or default_grid(len(ready.data.y)), judge)
        else:
            fitted, curve = path.follow(float(beta), 1.0), {}
    return FittedGP(
        fitted.gp,
        ready.inputs,
        ready.targets,
        Objective(solved.objective.loss, KL(), ClosedForm()),
        float(beta),
        curve,
        fitted.history,
        fitted.reason,
        time.monotonic() - began,
        None if judge is None else judge.rows(fitted.gp),
        column_names(X),
    )


class _Path:
    """Fits along a path of β: each starts from the hyperparameters of the one before."""

    def __init__(
        self, solved: Collapsed, ready: Prepared, stages: Stages | None, settings: Settings
    ):
        self._solved, self._ready, self._stages = solved, ready, stages
        self._settings, self._gp = settings, ready.gp
        if isinstance(solved, CollapsedSquareLoss):
            model = eqx.tree_at(lambda model: model.inducing, ready.gp.model, replace_fn=lent)
            self._gp = ready.gp._replace(model=model)

    def follow(self, beta: float, share: float) -> Trained:
        """Train the hyperparameters on for a share of a fit, then solve for q(u)."""
        trained = Trained(self._gp, "solved", no_history())
        if self._stages is not None:
            chunk = self._settings.chunk
            chunks = max(1, round(share * self._settings.steps / chunk))
            own = replace(self._settings, steps=chunk * chunks)
            trained = self._stages.run(f"β = {beta:.4g}", self._gp, own, beta)
            self._gp = trained.gp
        # `finish` itself refuses any others.
        model, likelihood = cast(tuple[SparseGP, Gaussian], trained.gp)
        model = eqx.tree_at(lambda model: model.inducing, model, replace_fn=thawed)
        finished = self._solved.finish(model, likelihood, self._ready.data, beta=beta)
        return trained._replace(gp=GP(*finished))

    def best_of(
        self, grid: list[float], judge: Scorer
    ) -> tuple[float, Trained, dict[float, float]]:
        """One whole fit at β = 1, then the grid with what `_GRID_SHARE` leaves for each.

        The winner is chosen as `select_beta` does, so that β means the same for every objective.
        """
        share = _GRID_SHARE / len(grid)
        steps = share * self._settings.steps
        # One length of chunk for all (one compilation), that hardly rounds a share up.
        chunk = max(1, round(steps / math.ceil(steps / self._settings.chunk)))
        self._settings = replace(self._settings, chunk=chunk)
        self.follow(1.0, 1.0)
        start, fits = self._gp, {}
        # Outward from β = 1 in both directions, so that every step on the path is a small one.
        for side in (sorted(b for b in grid if b > 1), sorted(b for b in grid if b <= 1)[::-1]):
            self._gp = start
            for beta in side:
                fits[beta] = self.follow(beta, share)
        losses = {beta: judged([fit], [judge]).losses for beta, fit in fits.items()}
        best = ranked(losses)[0]
        return best, fits[best], {beta: float(np.mean(rows)) for beta, rows in losses.items()}
