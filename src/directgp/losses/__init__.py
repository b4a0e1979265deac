"""Training losses: `base` has `Gibbs` and `Direct`, which wrap a score; each score is one file.

`black_box_alpha` and `second_order` are log losses between the two.
`outcomes` is the predictive distribution of y during training, for CRPS and pinball.
"""

from directgp.losses.base import Direct, Gibbs, Integrals, Loss, Score
from directgp.losses.black_box_alpha import BlackBoxAlpha
from directgp.losses.cost import CostScore
from directgp.losses.crps import CRPS
from directgp.losses.joint import Joint
from directgp.losses.log import LogLoss
from directgp.losses.pinball import Pinball
from directgp.losses.robust import (
    BetaLoss,
    GammaLoss,
    RobustScore,
    made_robust,
    robust_scores,
)
from directgp.losses.second_order import SecondOrder
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
losses.register("black-box-alpha")(BlackBoxAlpha)
losses.register("second-order")(SecondOrder)
losses.register("second-order-tight")(lambda: SecondOrder(tight=True))
losses.register("gibbs-square")(lambda: Gibbs(SquareLoss()))
losses.register("direct-square")(lambda: Direct(SquareLoss()))
losses.register("direct-crps")(lambda: Direct(CRPS()))
losses.register("direct-pinball")(lambda: Direct(Pinball()))
losses.register("gibbs-robust-beta")(lambda: Gibbs(BetaLoss()))
losses.register("direct-robust-beta")(lambda: Direct(BetaLoss()))
losses.register("gibbs-robust-gamma")(lambda: Gibbs(GammaLoss()))
losses.register("direct-robust-gamma")(lambda: Direct(GammaLoss()))
losses.register("joint-log")(lambda: Joint(Direct(LogLoss())))
losses.register("joint-gibbs-robust-beta")(lambda: Joint(Gibbs(BetaLoss())))
losses.register("joint-direct-robust-beta")(lambda: Joint(Direct(BetaLoss())))
losses.register("joint-gibbs-robust-gamma")(lambda: Joint(Gibbs(GammaLoss())))
losses.register("joint-direct-robust-gamma")(lambda: Joint(Direct(GammaLoss())))
for _name in ("log", "square", "crps", "pinball"):  # as the estimators and metrics call them
    losses.alias(_name, f"direct-{_name}")

__all__ = [
    "BetaLoss",
    "BlackBoxAlpha",
    "CRPS",
    "CostScore",
    "Direct",
    "GammaLoss",
    "Gibbs",
    "Integrals",
    "Joint",
    "LogLoss",
    "Loss",
    "Pinball",
    "RobustScore",
    "Score",
    "SecondOrder",
    "SquareLoss",
    "losses",
    "made_robust",
    "robust_scores",
    "scores",
]
