"""Decisions: costs, the actions they call for, and inference that knows what it is for.

costs, class_costs, function_cost   what an action costs once y is known
actions            `decide`: the Bayes action of any predictive; realised costs
policies           what the actions are worth beside policies that need no model
toml, expression   a cost from a file
training           classifiers trained for a cost
exact              small GP classifiers: Laplace, EP, samplers
utility, loss_em, linearised_loss_em, multiclass_loss_em   loss-calibrated inference (`lossem`)
theory             posterior risk, d_L, sparse means under covariate shift
power_plant        the example of `lossem` Fig. 1, with its picture
"""

from directgp.decisions.actions import (
    CostCurve,
    Decision,
    ThresholdCurve,
    decide,
    threshold_curve,
)
from directgp.decisions.class_costs import BinaryCost, CostMatrix, RejectCost, TableCost
from directgp.decisions.costs import Cost, IntervalCost, NewsvendorCost, SquareCost, costs
from directgp.decisions.exact.classifier import ExactGP, fit_exact
from directgp.decisions.function_cost import FunctionCost
from directgp.decisions.linearised_loss_em import Calibrated, linearised_loss_em
from directgp.decisions.loss_em import loss_em
from directgp.decisions.multiclass_loss_em import CalibratedClasses, multiclass_loss_em
from directgp.decisions.policies import Policy, compare_policies
from directgp.decisions.toml import cost_from, read_cost
from directgp.decisions.training import fit_for_cost

__all__ = [
    "BinaryCost",
    "Calibrated",
    "CalibratedClasses",
    "Cost",
    "CostCurve",
    "CostMatrix",
    "Decision",
    "ExactGP",
    "FunctionCost",
    "IntervalCost",
    "NewsvendorCost",
    "Policy",
    "RejectCost",
    "SquareCost",
    "TableCost",
    "ThresholdCurve",
    "compare_policies",
    "cost_from",
    "costs",
    "decide",
    "fit_exact",
    "fit_for_cost",
    "linearised_loss_em",
    "loss_em",
    "multiclass_loss_em",
    "read_cost",
    "threshold_curve",
]
