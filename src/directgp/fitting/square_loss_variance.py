"""The spread of a model trained by square loss, which says nothing of it."""

from dataclasses import replace
from typing import cast

from directgp.collapsed import CollapsedSquareLoss
from directgp.collapsed.calibration import uncalibrated
from directgp.fitting.fitted import FittedGP
from directgp.likelihoods import Gaussian
from directgp.losses import Direct, Loss, SquareLoss
from directgp.models import SparseGP
from directgp.objective import Batch
from directgp.training.loop import GP


def is_solved(loss: Loss, gp: GP) -> bool:
    """Whether q(u) is solved for after training: square loss of a sparse GP, Gaussian noise."""
    collapsible = isinstance(gp.model, SparseGP) and isinstance(gp.likelihood, Gaussian)
    return collapsible and bool(loss == Direct(SquareLoss()))


def with_spread(gp: GP, loss: Loss, data: Batch, beta: float) -> GP:
    """After square loss the spread is fitted by leave-one-out, where noise is Gaussian.

    Solving for q(u) there also puts the mean at the optimum that training was heading for.
    """
    if not is_solved(loss, gp):
        return gp
    model, likelihood = cast(tuple[SparseGP, Gaussian], gp)
    return GP(*CollapsedSquareLoss().finish(model, likelihood, data, beta=beta))


def to_go_on(fitted: FittedGP, loss: Loss) -> FittedGP:
    """What another fit by this loss goes on from."""
    if loss != Direct(SquareLoss()):
        return fitted
    return replace(fitted, gp=without_spread(fitted.gp), _ready={})


def without_spread(gp: GP) -> GP:
    """The model that square loss had trained: to go on from it, or β would mean another thing."""
    if not isinstance(gp.model, SparseGP):
        return gp
    return GP(uncalibrated(gp.model), gp.likelihood)
