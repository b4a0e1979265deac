"""Several initial values of a deep sigma point process, of which the best is trained.

With nearly deterministic inner layers all mixture components are initially equal and often stay so:
the `dspp` objective has a local minimum in which the mixture is one Gaussian. Other initial values
have inner layers with the variance of their prior, so that sigma points give different inputs of
the layer above, and a random mean of that layer. Each is trained for a share of the steps, and the
fit starts from the one with the lowest objective.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import numpy as np

from directgp.divergences import WhitenedGaussian
from directgp.fitting.mixture_check import has_sigma_points
from directgp.fitting.specs.coregionalised import Coregionalised
from directgp.fitting.specs.deep import INNER_STD, Deep
from directgp.losses import Direct, Joint, Loss, SquareLoss
from directgp.parameters import on_device
from directgp.training.loop import FAILED, GP, Settings
from directgp.training.resumable import Stages

NUM_STARTS = 3
_SHARE = 0.25
_SHARE_OF_BATCHES = 0.1
"""The share with mini-batches, where steps are better spent on the final fit."""
_TOP_SPREAD = 2.0
_MARGIN = 0.05
"""The minimum gain of the objective per row for which another start replaces the default one."""


def sees_components(loss: Loss) -> bool:
    """Whether distinct components can lower a loss, which depends on more than their mean."""
    return isinstance(loss, Direct | Joint) and not isinstance(loss.score, SquareLoss)


def num_starts(model: Any) -> int:
    """The number of initial values of a spec; by default `NUM_STARTS`.

    >>> num_starts(Deep(starts=1)), num_starts(Deep())
    (1, 3)
    """
    spec = model.base if isinstance(model, Coregionalised) else model
    return (spec.starts if isinstance(spec, Deep) else None) or NUM_STARTS


def best_start(
    gp: GP, stages: Stages, settings: Settings, beta: float, starts: int = NUM_STARTS
) -> GP:
    """The start with the lowest objective per row after a share of the steps.

    Args:
        gp: the default start.
        stages: runs the short trainings.
        settings: of the whole fit.
        beta: the weight of the divergence.
        starts: how many are tried, the default one included.

    Returns:
        The start itself, untrained; the default one unless another is clearly better.
    """
    if starts == 1 or gp.model.components == 1 or not has_sigma_points(gp.model):
        return gp
    share = _SHARE if settings.batch_size is None else _SHARE_OF_BATCHES
    steps = settings.chunk * max(1, round(share * settings.steps / settings.chunk))
    own = replace(settings, steps=steps, tolerance=0.0, patience=None, decay=False)
    best, least = gp, np.inf
    for number in range(starts):
        begin = gp if number == 0 else spread_start(gp, settings.seed + number)
        trained = stages.run(f"start {number}", begin, own, beta)
        reached = trained.history["objective"][-1] if trained.history["objective"] else np.inf
        if trained.reason != FAILED and reached < least - (_MARGIN if number else 0.0):
            best, least = begin, reached
    return best


def spread_start(gp: GP, seed: int) -> GP:
    """A start with prior variances of inner layers and a random mean of the last layer.

    Args:
        gp: the default start.
        seed: of the random mean.
    """
    rng = np.random.default_rng(seed)
    inner = gp.model.inner_posteriors
    wide = tuple(
        WhitenedGaussian.from_moments(mean, scale / INNER_STD)
        for mean, scale in (posterior.moments() for posterior in inner)
    )
    model = eqx.tree_at(lambda m: m.inner_posteriors, gp.model, wide)
    means = tuple(
        mean + on_device(_TOP_SPREAD * rng.normal(size=mean.shape)) for mean in model.top_means
    )
    return gp._replace(model=eqx.tree_at(lambda m: m.top_means, model, means))
