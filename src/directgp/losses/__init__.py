"""Losses: what is scored. `base` has Gibbs and Direct; each score is one file.

`outcomes` is the distribution of y while training, for the scores that need all of it.
"""

from directgp.losses.base import Direct, Gibbs, Integrals, Loss, Score
from directgp.losses.cost import CostScore
from directgp.losses.crps import CRPS
from directgp.losses.log import LogLoss
from directgp.losses.pinball import Pinball
from directgp.losses.robust import (
    BetaLoss,
    GammaLoss,
    RobustScore,
    made_robust,
    robust_scores,
)
from directgp.losses.square import SquareLoss
from directgp.registry import Registry

scores = Registry("score", Score)
scores.register("cost")(CostScore)
scores.register("log")(LogLoss)
scores.register("square")(SquareLoss)
scores.register("crps")(CRPS)
scores.register("pinball")(Pinball)
scores.register("robust-beta")(BetaLoss)
scores.register("robust-gamma")(GammaLoss)

losses = Registry("loss", Loss, lambda part: Direct(part) if isinstance(part, Score) else part)
losses.register("elbo")(lambda: Gibbs(LogLoss()))
losses.register("direct-log")(lambda: Direct(LogLoss()))
losses.register("gibbs-square")(lambda: Gibbs(SquareLoss()))
losses.register("direct-square")(lambda: Direct(SquareLoss()))
losses.register("direct-crps")(lambda: Direct(CRPS()))
losses.register("direct-pinball")(lambda: Direct(Pinball()))
losses.register("gibbs-robust-beta")(lambda: Gibbs(BetaLoss()))
losses.register("direct-robust-beta")(lambda: Direct(BetaLoss()))
losses.register("gibbs-robust-gamma")(lambda: Gibbs(GammaLoss()))
losses.register("direct-robust-gamma")(lambda: Direct(GammaLoss()))

__all__ = [
    "BetaLoss",
    "CRPS",
    "CostScore",
    "Direct",
    "GammaLoss",
    "Gibbs",
    "Integrals",
    "LogLoss",
    "Loss",
    "Pinball",
    "RobustScore",
    "Score",
    "SquareLoss",
    "losses",
    "made_robust",
    "robust_scores",
    "scores",
]
