"""Training losses: `base` has `Gibbs` and `Direct`, which wrap a score; each score is one file.

`black_box_alpha` and `second_order` are log losses between the two, `joint` scores all outputs of a
row together. `outcomes` has the predictive distribution of y during training, for CRPS and pinball.
"""

from directgp.losses.base import Direct, Gibbs, Integrals, Loss, Score, losses, scores
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
