"""Losses: what is scored. `base` has Gibbs and Direct; each score is one file."""

from directgp.losses.base import Direct, Gibbs, Integrals, Loss, Score
from directgp.losses.cost import CostScore
from directgp.losses.log import LogLoss
from directgp.losses.square import SquareLoss
from directgp.registry import Registry

scores = Registry("score")
scores.register("cost")(CostScore)
scores.register("log")(LogLoss)
scores.register("square")(SquareLoss)

losses = Registry("loss")
losses.register("elbo")(lambda: Gibbs(LogLoss()))
losses.register("direct-log")(lambda: Direct(LogLoss()))
losses.register("gibbs-square")(lambda: Gibbs(SquareLoss()))
losses.register("direct-square")(lambda: Direct(SquareLoss()))

__all__ = [
    "CostScore",
    "Direct",
    "Gibbs",
    "Integrals",
    "LogLoss",
    "Loss",
    "Score",
    "SquareLoss",
    "losses",
    "scores",
]
