"""Decisions: costs, Bayes actions, and models trained for a cost.

costs, class_costs, function_cost   cost functions cost(y, action)
actions                  `decide`: the Bayes action of any predictive; realised costs
policies                 realised costs, compared with policies without a model
cost_file, expression, named_function   costs from TOML files
training                 models trained for a cost
exact_inference          small data: Laplace, EP and loss-EM (`lossem`) for a cost
"""

from directgp.decisions.actions import (
    CostCurve,
    Decision,
    ThresholdCurve,
    decide,
    threshold_curve,
)
from directgp.decisions.class_costs import BinaryCost, CostMatrix, RejectCost, TableCost
from directgp.decisions.cost_file import cost_from, read_cost
from directgp.decisions.costs import Cost, IntervalCost, NewsvendorCost, SquareCost, costs
from directgp.decisions.exact_inference import decide_for_rows, fit_exact_for_cost
from directgp.decisions.function_cost import FunctionCost
from directgp.decisions.policies import Policy, compare_policies
from directgp.decisions.training import fit_for_cost

__all__ = [
    "BinaryCost",
    "Cost",
    "CostCurve",
    "CostMatrix",
    "Decision",
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
    "decide_for_rows",
    "fit_exact_for_cost",
    "fit_for_cost",
    "read_cost",
    "threshold_curve",
]
