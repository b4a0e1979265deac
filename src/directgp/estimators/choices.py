"""Objectives and links by name, and the training loss for the parameters of an estimator."""

from typing import Any

from directgp.errors import DirectGPError, nearest
from directgp.likelihoods import BernoulliLogit, BernoulliProbit
from directgp.losses import Direct, Gibbs, Loss, losses, made_robust, scores
from directgp.registry import Registry

objectives = Registry("objective")
objectives.register("direct")(Direct)
objectives.register("elbo")(Gibbs)

links = Registry("link")
links.register("probit")(BernoulliProbit)
links.register("logit")(BernoulliLogit)


def training_loss(plain: Any, objective: str, robust: str | None, power: float | None) -> Loss:
    """The training loss for the parameters of an estimator.

    Args:
        plain: `loss`, a score or loss or its name.
        objective: "direct" or "elbo", for scores.
        robust: `robust`.
        power: `robust_power`.
    """
    name = plain.partition(":")[0] if isinstance(plain, str) else None
    if name in losses and name not in scores:  # a plain score goes with `objective`
        plain = losses.resolve(plain)
    if not isinstance(plain, Loss):
        if name is not None and name not in scores:
            hint = nearest(name, {*scores, *losses} - {"cost"})
            raise DirectGPError(
                f"unknown loss {name!r}; {hint}{' ' * bool(hint)}choose log, crps, square, "
                f"pinball, a cost or one of: {', '.join(losses)}"
            )
        plain = objectives.create(objective, scores.resolve(plain))
    return made_robust(plain, robust, power)
