"""The spread of a model trained by square loss, which says nothing of it."""

from directgp.likelihoods import Gaussian
from directgp.losses import Direct, Loss, SquareLoss
from directgp.models import SparseGP
from directgp.models.collapsed import CollapsedSquareLoss
from directgp.models.collapsed.calibration import uncalibrated
from directgp.objective import Batch
from directgp.training.loop import GP


def with_spread(gp: GP, loss: Loss, data: Batch, beta: float) -> GP:
    """After square loss the spread is fitted by leave-one-out, where noise is Gaussian.

    Solving for q(u) there also puts the mean at the optimum that training was heading for.
    """
    collapsible = isinstance(gp.model, SparseGP) and isinstance(gp.likelihood, Gaussian)
    if loss != Direct(SquareLoss()) or not collapsible:
        return gp
    return GP(*CollapsedSquareLoss().finish(gp.model, gp.likelihood, data, beta=beta))


def without_spread(gp: GP) -> GP:
    """The model that square loss had trained: to go on from it, or β would mean another thing."""
    if not isinstance(gp.model, SparseGP):
        return gp
    return GP(uncalibrated(gp.model), gp.likelihood)
