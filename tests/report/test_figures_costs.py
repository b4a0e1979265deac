"""Figures of costs at the ends of what a cost may be."""

import re

import numpy as np
import pytest

from directgp.decisions import BinaryCost, decide
from directgp.predictive import ClassProbabilities
from directgp.report.figures_costs import cost_curve

BINARY = ClassProbabilities(np.log([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]))


@pytest.mark.parametrize("y", [None, np.array([0.0, 1.0, 1.0])], ids=["unknown", "known"])
@pytest.mark.parametrize(("prices", "best"), [((0, 1), "0"), ((1, 0), "1")], ids=str)
def test_mistakes_that_cost_nothing_have_a_threshold_at_the_edge(prices, best, y):
    cost = BinaryCost(*prices)
    figure = cost_curve(cost, decide(BINARY, cost), y)
    assert f"best by the cost: {best}" in figure
    assert not re.search(r"\b(nan|inf)\b", figure)
