"""`fit_collapsed`: regression whose q(u) is solved in closed form while hyperparameters train."""

import math
import time
from dataclasses import replace
from typing import Any, cast

import equinox as eqx
import numpy as np

from directgp.collapsed import FITC, Collapsed, CollapsedBound, CollapsedSquareLoss
from directgp.divergences import KL
from directgp.errors import DirectGPError, WrongType
from directgp.expectations import ClosedForm
from directgp.fitting.checks import Beta, beta_and_grid, check_count, check_positive_beta
from directgp.fitting.fitted import FittedGP
from directgp.fitting.prepare import Prepared, prepare
from directgp.fitting.specs import FixedHyperparameters, Sparse, Training
from directgp.likelihoods import Gaussian
from directgp.losses import Direct
from directgp.models import SparseGP
from directgp.objective import Objective
from directgp.parameters import float64, lent, thawed
from directgp.predictive import Predictive
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

_SPARSE = Sparse()
_GRID_SHARE = 2.5
"""What the whole grid of β may cost after the first fit, in fits."""


@float64
def fit_collapsed(
    X: Any,
    y: Any,
    *,
    model: Sparse | FixedHyperparameters = _SPARSE,
    objective: str | Collapsed = "elbo",
    beta: Beta = 1.0,
    validation: float | tuple[Any, Any] | None = None,
    max_steps: int = 1000,
    learning_rate: float = 0.05,
    seed: int = 0,
    verbose: bool | None = None,
) -> FittedGP[Predictive]:
    """Full-batch sparse GP regression with the best q(u) at every step (`dlm` section 2).

    Args:
        X: rows of numbers [N D].
        y: their targets [N].
        model: a `Sparse` to build, or `FixedHyperparameters(fitted)`, whose hyperparameters are
            kept (`dlm` "fixed"): then nothing is trained.
        objective: "elbo" is Titsias' bound (for any β), "fitc" the FITC marginal likelihood (where
            β has no meaning and must be 1), "direct-square" the square-loss DLM with its
            closed-form mean; it keeps the inducing inputs where k-means puts them, because moved
            for the square loss alone they follow the training rows.
        beta: the weight of the divergence; "auto" follows the grid n, n/2, …, 0.01, a list of
            numbers those, with warm starts, and keeps what is best on held-out rows.
        validation: a share of the rows, or rows of their own, to hold out.
        max_steps: the most steps of Adam for the hyperparameters.
        learning_rate: Adam's.
        seed: of everything random.
        verbose: whether to show progress; None: where somebody looks.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> fitted = fit_collapsed(X, np.sin(6 * X[:, 0]), max_steps=200)
    >>> bool(abs(fitted.predict([[0.5]]).mean[0] - np.sin(3.0)) < 0.05)
    True
    """
    training = Training(max_steps=max_steps, learning_rate=learning_rate, batch_size=None)
    check_count("seed", seed, 0)
    _check_model(model)
    value, grid = beta_and_grid(beta)
    began = time.monotonic()
    solved = collapsed.resolve(objective)
    if isinstance(solved, FITC) and value != 1:
        raise DirectGPError(f"FITC has no weight β, got beta={beta!r}; use beta=1.0")
    check_positive_beta(value, grid)
    ready = prepare(
        X,
        y,
        Gaussian(),
        model=model,
        validation=validation,
        hold_out=lambda rows: value == "auto",
        sample_weight=None,
        seed=seed,
    )
    settings = training.settings(len(ready.data.y), 1, seed)
    judge = None
    if ready.held_out is not None:
        judged_by = Direct(solved.objective.loss.score)
        judge = Scorer(Objective(judged_by, KL(), ClosedForm()), ready.held_out)
    with reporter(verbose) as report:
        stages = Stages(solved, ready.data, report)
        path = _Path(solved, ready, stages if isinstance(model, Sparse) else None, settings)
        if value == "auto":
            assert judge is not None
            value, fitted, curve = path.best_of(grid or default_grid(len(ready.data.y)), judge)
        else:
            fitted, curve = path.follow(float(value), 1.0), {}
    return FittedGP(
        fitted.gp,
        ready.inputs,
        ready.targets,
        Objective(solved.objective.loss, KL(), ClosedForm()),
        float(value),
        curve,
        fitted.history,
        fitted.reason,
        time.monotonic() - began,
        None if judge is None else judge.rows(fitted.gp),
        column_names(X),
    )


def _check_model(model: Any) -> None:
    """Refuse what has no closed-form q(u)."""
    if not isinstance(model, Sparse | FixedHyperparameters):
        raise WrongType(
            f"q(u) is solved for a Sparse or FixedHyperparameters, got a {type(model).__name__}; "
            "use fit for other models"
        )
    if model.mean_field or (isinstance(model, Sparse) and model.features is not None):
        raise DirectGPError(
            "q(u) is solved for with a full covariance and without a network; leave out mean_field "
            "and features, or use fit"
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
