"""Fits with a closed-form q(u) along a path of β, and the choice between paths on held-out rows."""

import math
from dataclasses import replace
from typing import NamedTuple, cast

import equinox as eqx
import numpy as np

from directgp.collapsed import Collapsed
from directgp.fitting.prepare import Prepared
from directgp.likelihoods import Gaussian
from directgp.models import SparseGP
from directgp.parameters import lent, thawed
from directgp.training.beta_ranking import ranked
from directgp.training.evaluate import Scorer
from directgp.training.judgement import judged
from directgp.training.loop import GP, Settings, Trained, no_history
from directgp.training.resumable import Stages
from directgp.training.select_beta import beta_grid as default_grid

_GRID_SHARE = 2.5
"""Total training time for the grid of β, in units of the first fit."""


class PathFit(NamedTuple):
    """The chosen fit of a path."""

    beta: float
    trained: Trained
    curve: dict[float, float]
    """Held-out loss at every candidate β; empty if β was given."""


class BetaPath:
    """Fits along a path of β, each warm-started from the hyperparameters of the previous one.

    Without `stages`, hyperparameters are not trained and only q(u) is solved for.
    """

    def __init__(
        self,
        solved: Collapsed,
        ready: Prepared,
        stages: Stages | None,
        settings: Settings,
        learn_inducing: bool,
    ):
        self._solved, self._ready, self._stages = solved, ready, stages
        self._settings, self._gp = settings, ready.gp
        if not learn_inducing:
            model = eqx.tree_at(lambda model: model.inducing, ready.gp.model, replace_fn=lent)
            self._gp = ready.gp._replace(model=model)

    def fit(self, beta: float | str, grid: list | None, judge: Scorer | None) -> PathFit:
        """The fit at a given β, or at the best β of a grid.

        Args:
            beta: a number, or "auto".
            grid: the candidates for "auto"; None: the default grid.
            judge: scores held-out rows; needed for "auto".
        """
        if not isinstance(beta, str):
            return PathFit(float(beta), self._follow(float(beta), 1.0), {})
        assert judge is not None
        return self._best_of(grid or default_grid(len(self._ready.data.y)), judge)

    def _follow(self, beta: float, share: float) -> Trained:
        """Train the hyperparameters for a share of a full fit, then solve for q(u)."""
        trained = Trained(self._gp, "solved", no_history())
        if self._stages is not None:
            chunk = self._settings.chunk
            chunks = max(1, round(share * self._settings.steps / chunk))
            own = replace(self._settings, steps=chunk * chunks)
            trained = self._stages.run(f"β = {beta:.4g}", self._gp, own, beta)
            self._gp = trained.gp
        # `finish` refuses other types.
        model, likelihood = cast(tuple[SparseGP, Gaussian], trained.gp)
        model = eqx.tree_at(lambda model: model.inducing, model, replace_fn=thawed)
        finished = self._solved.finish(model, likelihood, self._ready.data, beta=beta)
        return trained._replace(gp=GP(*finished))

    def _best_of(self, grid: list[float], judge: Scorer) -> PathFit:
        """A full fit at β = 1, then short fits at every β of the grid (`_GRID_SHARE` in total).

        The best β is chosen by the rule of `select_beta`.
        """
        share = _GRID_SHARE / len(grid)
        steps = share * self._settings.steps
        # One chunk length for all fits (one compilation), with little rounding of the shares.
        chunk = max(1, round(steps / math.ceil(steps / self._settings.chunk)))
        self._settings = replace(self._settings, chunk=chunk)
        self._follow(1.0, 1.0)
        start, fits = self._gp, {}
        # From β = 1 in both directions, so that neighbouring fits on the path are similar.
        for side in (sorted(b for b in grid if b > 1), sorted(b for b in grid if b <= 1)[::-1]):
            self._gp = start
            for beta in side:
                fits[beta] = self._follow(beta, share)
        losses = {beta: judged([fit], [judge]).losses for beta, fit in fits.items()}
        best = ranked(losses)[0]
        curve = {beta: float(np.mean(rows)) for beta, rows in losses.items()}
        return PathFit(float(best), fits[best], curve)


def best_path(fits: list[PathFit], judge: Scorer | None) -> PathFit:
    """The fit with the lowest mean held-out loss.

    Args:
        fits: of the paths; the first one is returned without held-out rows.
        judge: scores held-out rows, if there are any.
    """
    if judge is None or len(fits) == 1:
        return fits[0]
    return min(fits, key=lambda fit: float(np.mean(judged([fit.trained], [judge]).losses)))
