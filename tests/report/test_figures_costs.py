"""Figures of costs at the ends of what a cost may be."""

import re

import numpy as np
import pytest

from directgp.decisions import BinaryCost, NewsvendorCost, decide
from directgp.decisions.policies import compare_policies
from directgp.predictive import ClassProbabilities, GaussianMixture
from directgp.report.decision import Decided, decision_report, saving
from directgp.report.figures_costs import cost_curve
from directgp.report.judged import Table
from directgp.report.numbers import number

BINARY = ClassProbabilities(np.log([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]))


@pytest.mark.parametrize("y", [None, np.array([0.0, 1.0, 1.0])], ids=["unknown", "known"])
@pytest.mark.parametrize(("prices", "best"), [((0, 1), "0"), ((1, 0), "1")], ids=str)
def test_mistakes_that_cost_nothing_have_a_threshold_at_the_edge(prices, best, y):
    cost = BinaryCost(*prices)
    figure = cost_curve(cost, decide(BINARY, cost), y)
    assert f"Bayes threshold: {best}" in figure
    assert not re.search(r"\b(nan|inf)\b", figure)


def test_acting_always_costs_the_same_in_the_table_and_below_the_curve():
    rng = np.random.default_rng(0)
    p = np.where(rng.random(400) < 0.3, 0.003, rng.random(400))  # some below the axis' left end
    y = (rng.random(400) < p).astype(float)
    predictive, cost = ClassProbabilities(np.log(np.stack([1 - p, p], 1))), BinaryCost(1, 4)
    decision = decide(predictive, cost)
    by_name = {each.name: each.mean for each in compare_policies(decision, y, predictive)}
    always = next(mean for name, mean in by_name.items() if name.startswith("always “1"))
    never = next(mean for name, mean in by_name.items() if name.startswith("always “0"))
    said = f"acting always costs {number(always)}, never {number(never)}"
    assert said in cost_curve(cost, decision, y)
    assert np.isclose(always, np.mean(y == 0)) and np.isclose(never, 4 * np.mean(y == 1))


def test_the_best_constant_is_named_beside_the_mean_of_each_row():
    rng = np.random.default_rng(1)
    mean = 250_000 + 1000 * rng.standard_normal(200)
    y = mean + 300 * rng.standard_normal(200)
    predictive = GaussianMixture(mean[None], np.full((1, 200), 300.0**2), np.zeros(1))
    wide = GaussianMixture(np.full((1, 200), 250_000.0), np.full((1, 200), 1e6), np.zeros(1))
    decision = decide(predictive, NewsvendorCost(under=4, over=1))
    policies = compare_policies(decision, y, wide)
    said = saving(Decided("m", decision, "c", decision, y, policies)).sentence
    assert "the mean of each row would cost" in said
    assert "always 250,842 (the best constant by the training rows)" in said


def test_rows_as_dear_as_the_last_one_shown_are_counted():
    p = np.full(40, 0.4)
    y = np.r_[np.ones(13), np.zeros(27)]
    decision = decide(ClassProbabilities(np.log(np.stack([1 - p, p], 1))), BinaryCost(1, 1))
    page = decision_report(Decided("m", decision, "c", decision, y), Table("t", classes=["n", "y"]))
    assert "The 10 most expensive rows" in page
    assert "3 more rows cost as much as the last of them." in page
