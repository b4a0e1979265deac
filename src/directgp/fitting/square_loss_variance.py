"""The predictive variance of a model trained by square loss, which determines the mean only."""

from dataclasses import replace
from typing import cast

from directgp.collapsed import CollapsedSquareLoss
from directgp.collapsed.any_model import with_variance, without_scale
from directgp.fitting.fitted import FittedGP
from directgp.likelihoods import Gaussian, GaussianOutputs
from directgp.losses import Direct, Loss, SquareLoss
from directgp.models import SparseGP
from directgp.objective import Batch, Objective
from directgp.training.loop import GP


def is_solved(loss: Loss, gp: GP) -> bool:
    """Whether q(u) has a closed form: square loss, one sparse GP, Gaussian noise.

    Args:
        loss: the training loss.
        gp: model and likelihood.
    """
    collapsible = isinstance(gp.model, SparseGP) and isinstance(gp.likelihood, Gaussian)
    return collapsible and bool(loss == Direct(SquareLoss()))


def with_spread(
    gp: GP, objective: Objective, data: Batch, beta: float, held_out: Batch | None = None
) -> GP:
    """The model with its predictive variance fitted by leave-one-out, for Gaussian noise.

    The square loss does not determine the variance. For one sparse GP with a multiple of KL, q(u)
    is also replaced by its closed-form optimum. In other cases, and where held-out rows chose the
    mean, the mean stays as it was trained.

    Args:
        gp: the trained model and likelihood.
        objective: what it was trained for.
        data: the training rows.
        beta: the weight of the divergence.
        held_out: the validation rows by which the mean was chosen, if any.

    Returns:
        The model with the new variance.
    """
    model, likelihood = gp
    gaussian = isinstance(likelihood, Gaussian | GaussianOutputs)
    if not gaussian or objective.loss != Direct(SquareLoss()) or not model.top_gps:
        return gp
    weight = objective.divergence.for_layer(0, 1).kl_weight if model.depth == 1 else None
    if is_solved(objective.loss, gp) and weight is not None and held_out is None:
        sparse, noise = cast(tuple[SparseGP, Gaussian], gp)
        return GP(*CollapsedSquareLoss().finish(sparse, noise, data, beta=beta * weight))
    return GP(*with_variance(model, likelihood, objective, data, held_out, beta))


def continued_from(fitted: FittedGP, loss: Loss) -> FittedGP:
    """The model from which another fit with this loss continues.

    Args:
        fitted: the earlier fit.
        loss: of the other fit.
    """
    if loss != Direct(SquareLoss()):
        return fitted
    return replace(fitted, gp=without_spread(fitted.gp), _ready={})


def without_spread(gp: GP) -> GP:
    """Undo the change of the kernel by `with_spread`, which would change the meaning of β."""
    return GP(without_scale(gp.model), gp.likelihood)
