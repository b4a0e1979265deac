"""Costs and actions: closed forms against brute force, for every kind of predictive."""

import numpy as np
import pytest
from scipy import stats

from directgp import GaussianMixture
from directgp.decisions import (
    BinaryCost,
    CostMatrix,
    FunctionCost,
    IntervalCost,
    NewsvendorCost,
    RejectCost,
    SquareCost,
    cost_from,
    costs,
    decide,
    read_cost,
    threshold_curve,
)
from directgp.decisions.expression import Expression
from directgp.decisions.policies import compare_policies
from directgp.likelihoods import NegativeBinomialExp, PoissonExp
from directgp.predictive import ClassProbabilities

GAUSSIAN = GaussianMixture(np.array([[0.0, 2.0], [3.0, 2.5]]), np.ones((2, 2)), np.log([0.7, 0.3]))
COUNTS = PoissonExp().predictive(np.full((1, 2, 1), 1.5), np.full((1, 2, 1), 0.2), np.zeros(1))
WIDE = NegativeBinomialExp().predictive(
    np.full((1, 1, 1), 8.0), np.full((1, 1, 1), 0.5), np.zeros(1)
)
CLASSES = ClassProbabilities(np.log([[0.94, 0.05, 0.01], [0.2, 0.3, 0.5]]))
BINARY = ClassProbabilities(np.log([[0.9, 0.1], [0.97, 0.03], [0.3, 0.7]]))


@pytest.mark.parametrize("predictive", [GAUSSIAN, COUNTS, CLASSES, WIDE], ids=repr)
def test_nodes_stand_for_the_distribution(predictive):
    values, weights = predictive.nodes()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    mean = np.sum(weights * values, axis=1)
    np.testing.assert_allclose(mean, predictive.mean, rtol=2e-4)
    spread = np.sum(weights * (values - mean[:, None]) ** 2, axis=1)
    np.testing.assert_allclose(spread, predictive.variance, rtol=5e-3)


@pytest.mark.parametrize("predictive", [GAUSSIAN, COUNTS, WIDE], ids=repr)
def test_newsvendor_orders_a_quantile_and_nothing_is_cheaper(predictive):
    cost = NewsvendorCost(under=4, over=1)
    decision = decide(predictive, cost)
    np.testing.assert_array_equal(decision.action, predictive.quantile(0.8))
    assert decision.second_best_cost is None
    curve = decision.curve()
    assert curve.expected.shape == (len(predictive), len(curve.actions))
    assert np.all(curve.expected.min(axis=1) >= decision.expected_cost * (1 - 1e-3))
    draws = predictive.sample(20_000, seed=0).T
    sampled = cost.values(draws, decision.action[:, None]).mean(axis=1)
    np.testing.assert_allclose(decision.expected_cost, sampled, rtol=0.05)


def test_square_cost_acts_by_the_mean():
    decision = decide(GAUSSIAN, SquareCost(2.0))
    np.testing.assert_allclose(decision.action, GAUSSIAN.mean)
    np.testing.assert_allclose(decision.expected_cost, 2.0 * GAUSSIAN.variance)
    actions = np.array([0.0, 1.0])
    expected = 2.0 * (GAUSSIAN.variance[:, None] + (GAUSSIAN.mean[:, None] - actions) ** 2)
    np.testing.assert_allclose(decision.curve(actions).expected, expected, rtol=1e-4)


def test_interval_cost_is_the_interval_score():
    decision = decide(GAUSSIAN, IntervalCost(width=1, miss=20))
    lower, upper = GAUSSIAN.interval(0.9)
    np.testing.assert_allclose(decision.action, np.stack([lower, upper], axis=1))
    np.testing.assert_allclose(
        decision.realised([lower[0] - 1, upper[1] - 0.1]), upper - lower + [20, 0]
    )
    curve = decision.curve(np.stack([lower + 0.3, upper - 0.3], axis=1))
    assert np.all(curve.expected[[0, 1], [0, 1]] > decision.expected_cost)


def test_binary_threshold_and_brute_force():
    cost = BinaryCost(false_positive=1, false_negative=19)
    decision = decide(BINARY, cost)
    np.testing.assert_array_equal(decision.action, BINARY.probabilities[:, 1] > cost.threshold)
    np.testing.assert_allclose(decision.expected_cost, [0.9, 0.57, 0.3])
    assert decision.second_best_cost is not None
    np.testing.assert_allclose(decision.second_best_cost, [1.9, 0.97, 13.3])
    np.testing.assert_allclose(decision.realised([0, 1, 1]), [1, 19, 0])
    np.testing.assert_allclose(decision.curve().expected[:, 1], BINARY.probabilities[:, 0])


def test_costs_of_each_row():
    cost = BinaryCost(false_positive=1.0, false_negative=np.array([1.0, 100.0, 0.1]))
    decision = decide(BINARY, cost)
    assert decision.action.tolist() == [0, 1, 0]
    np.testing.assert_allclose(decision.realised([1, 0, 1]), [1.0, 1.0, 0.1])
    newsvendor = decide(GAUSSIAN, NewsvendorCost(under=[4.0, 1.0], over=1.0))
    np.testing.assert_allclose(
        newsvendor.action, [GAUSSIAN.quantile(0.8)[0], GAUSSIAN.quantile(0.5)[1]]
    )
    with pytest.raises(ValueError, match="given for 3 rows, but there are 2"):
        decide(BINARY[:2], cost)
    some = decision.take([1, 2], BinaryCost(1.0, np.array([100.0, 0.1])))
    np.testing.assert_allclose(some.realised([0, 1]), [1.0, 0.1])
    assert (
        len(some.predictive) == 2
        and some.expected_cost.tolist() == decision.expected_cost[1:].tolist()
    )
    rejecting = decide(BINARY, RejectCost(cost, price=[0.01, 9.0, 9.0]))
    assert rejecting.action.tolist() == [2, 1, 0]


def test_matrix_and_reject_by_brute_force(rng):
    prices = rng.random((3, 4)) * 10
    decision = decide(CLASSES, CostMatrix(prices, actions=["a", "b", "c", "d"]))
    expected = CLASSES.probabilities @ prices
    np.testing.assert_array_equal(decision.action, expected.argmin(axis=1))
    np.testing.assert_allclose(decision.expected_cost, expected.min(axis=1))
    sure = RejectCost(BinaryCost(1, 1), price=0.2)
    assert decide(BINARY, sure).action.tolist() == [0, 0, 2]
    np.testing.assert_allclose(decide(BINARY, sure).expected_cost, [0.1, 0.03, 0.2])
    own = CostMatrix(np.stack([prices, 2 * prices]))
    np.testing.assert_allclose(decide(CLASSES, own).expected_cost, expected.min(axis=1) * [1, 2])


@pytest.mark.parametrize("predictive", [GAUSSIAN, COUNTS], ids=repr)
def test_any_function_finds_what_the_closed_form_finds(predictive):
    def pinball(y, a):
        return np.where(y > a, 4 * (y - a), a - y)

    exact = decide(predictive, NewsvendorCost(under=4, over=1))
    ranged = decide(predictive, FunctionCost(pinball, lower=-5, upper=30))
    np.testing.assert_allclose(ranged.expected_cost, exact.expected_cost, rtol=3e-3)
    # The cost has a kink: its minimum snaps to one of the quantiles that stand for y.
    np.testing.assert_allclose(ranged.action, exact.action, atol=0.08)
    listed = decide(predictive, FunctionCost(pinball, actions=np.arange(0, 12)))
    assert listed.second_best_cost is not None
    assert np.all(listed.second_best_cost >= listed.expected_cost)
    assert np.all(listed.expected_cost >= exact.expected_cost * (1 - 1e-3))


def test_threshold_curve_is_lowest_at_the_bayes_threshold(rng):
    p = rng.random(4000)
    y = (rng.random(4000) < p) * 1.0
    predictive = ClassProbabilities(np.log(np.stack([1 - p, p], axis=1)))
    cost = BinaryCost(1, 4)
    curve = threshold_curve(predictive, y, cost)
    assert abs(curve.thresholds[curve.mean.argmin()] - 0.2) < 0.06
    at = np.argmin(np.abs(curve.thresholds - 0.2))
    np.testing.assert_allclose(curve.mean[at], decide(predictive, cost).realised(y).mean())


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: BinaryCost(-1, 2), "false_positive must be ≥ 0, got -1"),
        (lambda: BinaryCost(0, 0), "every entry of the binary cost is 0"),
        (lambda: BinaryCost(np.nan, 1), "must be finite"),
        (lambda: CostMatrix([[0, 1, 2], [3, 0]]), "must have rows of one length"),
        (lambda: BinaryCost("dear", 1), "must be numbers, got 'dear'"),
        (lambda: BinaryCost([0.0, 1.0], [0.0, 1.0]), "both prices of a row"),
        (lambda: BinaryCost(np.ones((2, 2)), 1), "a number or one for each row"),
        (lambda: CostMatrix([[0, 0], [0, 0]]), "every entry of the cost matrix is 0"),
        (lambda: CostMatrix([0, 1]), "classes × actions"),
        (lambda: CostMatrix([[0, 1], [np.inf, 0]]), "must be finite"),
        (lambda: CostMatrix([[0, 1], [2]]), "rows of one length"),
        (lambda: CostMatrix([[0, 1], [2, 0]], actions=["a"]), "1 actions are named"),
        (lambda: NewsvendorCost(under=0, over=1), "under must be > 0"),
        (lambda: IntervalCost(width=1, miss=2), "more than 2·width"),
        (lambda: RejectCost(SquareCost(), 1), "needs a binary or matrix cost"),
        (lambda: RejectCost(BinaryCost(1, 1), -1), "price must be ≥ 0"),
        (lambda: RejectCost(BinaryCost(1, 1), 0), "price must be > 0"),
        (lambda: RejectCost(RejectCost(BinaryCost(1, 1), 0.2), 0.1), "got RejectCost"),
        (lambda: BinaryCost(1, 2, positive=["yes"]), "label of one class, got \\['yes'\\]"),
        (lambda: BinaryCost(1, 2, positive=np.ones(2)), "label of one class"),
        (lambda: BinaryCost([1, 2, 3], [1, 2]), "3 of false_positive and 2 of false_negative"),
        (lambda: NewsvendorCost([1, 2, 3], [1]), "3 of under and 1 of over"),
        (lambda: IntervalCost([1, 2, 3], [20, 30]), "3 of width and 2 of miss"),
        (lambda: decide(GAUSSIAN, SquareCost([1, 2, 3])), "for 3 rows, but there are 2"),
        (lambda: decide(GAUSSIAN[:1], SquareCost([1, 2, 3])), "for 3 rows, but there are 1"),
        (
            lambda: decide(
                GAUSSIAN, FunctionCost(Expression("y * y * w", {"w": [1]}), actions=[0, 1])
            ),
            "'w' has 1 rows, but there are 2",
        ),
        (lambda: FunctionCost(3, lower=0, upper=1), "callable"),
        (lambda: FunctionCost(np.add), "either actions"),
        (lambda: FunctionCost(np.add, lower=1, upper=0), "below upper"),
        (lambda: FunctionCost(np.add, actions=[1]), "at least 2"),
        (lambda: FunctionCost(np.add, actions=[1, 1]), "different from each other"),
        (lambda: FunctionCost(np.add, actions=["a", "b"]), "finite numbers"),
        (lambda: FunctionCost(np.add, lower=0, upper=np.nan), "finite numbers"),
        (lambda: FunctionCost(np.add, lower=[0], upper=1), "must be a number"),
        (
            lambda: decide(GAUSSIAN, FunctionCost(lambda y, a: 0 * (y + a), actions=[0, 1])),
            "0 for every y and action",
        ),
        (
            lambda: decide(GAUSSIAN, FunctionCost(lambda y, a: y.nothing, actions=[0, 1])),
            "failed with AttributeError",
        ),
        (lambda: CostMatrix({"a": [0, 1], "b": [1, 0]}, classes=["a", "b"]), "leave out classes"),
        (lambda: CostMatrix({}), "must not be empty"),
        (lambda: CostMatrix({"a": [0, 1], "b": [1]}), "one price for each action"),
        (lambda: CostMatrix([[0, 1], [1, 0]], actions="ab"), "a list of names"),
        (lambda: CostMatrix([[0, 1], [1, 0]], actions=["a", "a"]), "different names"),
        (lambda: CostMatrix([[0, 1], [1, 0]], classes=["a"]), "1 classes are named"),
        (lambda: decide(BINARY, CostMatrix({"a": [0, 1], "b": [1, 0]})), "give decide"),
        (lambda: decide(BINARY, CostMatrix({"a": [0, 1], "b": [1, 0]}), ["a", "c"]), "class 'b'"),
        (
            lambda: decide(CLASSES, CostMatrix({"a": [0, 1], "b": [1, 0]}), ["a", "b", "c"]),
            "no row for 'c'",
        ),
        (lambda: decide(BINARY, BinaryCost(1, 2, positive="x"), ["a", "b"]), "the class 'x'"),
        (lambda: decide(BINARY, BinaryCost(1, 2, positive="x")), "give decide"),
        (lambda: decide(CLASSES, BinaryCost(1, 2), ["a", "b", "c"]), "for two classes"),
        (
            lambda: decide(BINARY, BinaryCost(1, 2), ["ill", "well"]),
            "does not say which of 'ill', 'well' is the positive class; give positive = 'well'",
        ),
        (
            lambda: decide(BINARY, BinaryCost(1, 2, "b"), ["a", "b"]).realised(["a", "b", "c"]),
            "the label 'c'",
        ),
        (lambda: decide(BINARY, BinaryCost(1, 2, "b"), ["a", "b"]).realised(["a"]), "shape"),
        (lambda: FunctionCost(np.add, lower=0, upper=1).score(), "no training for FunctionCost"),
        (lambda: NewsvendorCost([1.0, 2.0], 1).score(), "one cost for all rows"),
        (lambda: decide(BINARY, 3.0), "cost must be a Cost"),
        (lambda: decide(GAUSSIAN, BinaryCost(1, 2)), "needs class probabilities"),
        (lambda: decide(CLASSES, BinaryCost(1, 2)), "2 classes but the model has 3"),
        (
            lambda: BinaryCost(1, 2).realised([0, 1], [2, 0]),
            "the number of an action",
        ),
        (lambda: BinaryCost(1, 2).realised([0, 3], [1, 0]), "y must be the number of a class"),
        (lambda: BinaryCost(1, 2).realised([0, np.nan], [1, 0]), "missing"),
        (lambda: BinaryCost(1, 2).realised([0, 1], [1]), "one action per row"),
        (lambda: IntervalCost(1, 9).realised([0.0], [[1.0, 0.0]]), "lower ≤ upper"),
        (
            lambda: decide(GAUSSIAN, FunctionCost(lambda y, a: y - a, lower=0, upper=1)),
            "must be ≥ 0",
        ),
        (lambda: decide(GAUSSIAN, FunctionCost(lambda y, a: 1.0, lower=0, upper=1)), "shape"),
        (
            lambda: FunctionCost(np.hypot, lower=0, upper=1).realised([0.0], [2.0]),
            "between 0 and 1, got 2",
        ),
    ],
)
def test_bad_costs_and_impossible_actions_are_refused_in_one_line(make, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_costs_speak_of_classes_by_their_labels():
    """Whatever the order of the model's classes, the same rows get the same named actions."""
    by_name = CostMatrix({"ill": [20, 0, 3], "well": [0, 1, 3]}, ["wait", "treat", "ask"])
    decision = decide(BINARY, by_name, ["well", "ill"])
    flipped = decide(
        ClassProbabilities(BINARY.log_probabilities[:, ::-1]), by_name, ["ill", "well"]
    )
    assert decision.named == flipped.named == ["treat", "wait", "treat"]
    np.testing.assert_allclose(decision.realised(["ill", "ill", "well"]), [0, 20, 1])
    np.testing.assert_allclose(decision.expected_cost, flipped.expected_cost)
    assert decision.second_best is not None
    assert by_name.called(decision.second_best) == ["wait", "treat", "ask"]
    first = decide(BINARY, BinaryCost(1, 19, positive="a"), ["a", "b"])
    assert first.named == ["a", "a", "a"] and first.cost.act == 0
    np.testing.assert_allclose(first.realised(["b", "a", "b"]), [1, 0, 1])
    curve = threshold_curve(BINARY, [1, 1, 0], first.cost, thresholds=[0.5])
    np.testing.assert_allclose(curve.mean, (1 + 1 + 19) / 3)
    assert decide(BINARY, CostMatrix([[0, 1], [1, 0]]), [False, True]).named[0] == "False"
    assert decide(BINARY, BinaryCost(1, 2, positive="true"), [False, True]).cost.act == 1


def test_what_the_actions_are_worth_beside_policies_without_a_model(rng):
    p = rng.random(500)
    y = (rng.random(500) < p) * 1.0
    known = ClassProbabilities(np.log(np.stack([1 - p, p], axis=1)))
    base = ClassProbabilities(np.log(np.full((500, 2), 0.5)))
    found = compare_policies(decide(known, BinaryCost(1, 4, "yes"), ["no", "yes"]), _words(y), base)
    costs = {policy.name: policy for policy in found}
    assert set(costs) == {
        "the model's actions", "always “no”", "always “yes”", "the most probable class"
    }  # fmt: skip
    np.testing.assert_allclose(costs["always “no”"].mean, 4 * y.mean())
    np.testing.assert_allclose(costs["always “yes”"].mean, 1 - y.mean())
    assert found[0].mean < costs["always “yes”"].mean
    gap = costs["always “yes”"].costs - found[0].costs
    np.testing.assert_allclose(costs["always “yes”"].more_error, gap.std(ddof=1) / np.sqrt(500))
    numbers = compare_policies(decide(GAUSSIAN, NewsvendorCost(4, 1)), [0.0, 3.0], GAUSSIAN[[0, 0]])
    assert {policy.name for policy in numbers[1:]} == {
        f"always {GAUSSIAN.quantile(0.8)[0]:.4g} (the best constant by the training rows)",
        "the mean of each row",
    }


def _words(y):
    return np.where(y == 1, "yes", "no")


def test_expressions_are_arithmetic_and_nothing_else():
    y, action = np.array([[1.0, 5.0], [2.0, 3.0]]), np.array([[2.0], [2.0]])
    for text, value in {
        "where(y > action, 4 * (y - action), action - y)": np.where(
            y > action, 4 * (y - action), action - y
        ),
        "minimum(abs(y - action), 1) ** 2 / 2": np.minimum(np.abs(y - action), 1) ** 2 / 2,
        "price * ((y > 1) & (action != 0))": np.array([[0.0, 10.0], [20.0, 20.0]]),
        "3": np.full((2, 2), 3.0),
        "-y + +action % 2 - ~(y == 5)": -y + action % 2 - (y != 5),
    }.items():
        np.testing.assert_allclose(Expression(text, {"price": [10, 20]})(y, action), value)
    for text, complaint in (
        ("maximum(0, y - action, y)", "gives maximum 3 values; it takes 2"),
        ("abs()", "gives abs 0 values; it takes 1"),
        ("where(y > 1)", "gives where 1 values; it takes 3"),
        ("-" * 999 + "y", "more than 100 levels of nesting"),
        ("+".join(["y"] * 400), "more than 100 levels of nesting"),
    ):
        with pytest.raises(ValueError, match=complaint):
            Expression(text)
    long = Expression("+".join(["y"] * 80))
    np.testing.assert_allclose(long(y, action), 80 * y)
    for text in ("__import__('os')", "y.__class__", "[y]", "lambda: 1", "abs(y, out=y)", "'a'", ""):
        with pytest.raises(ValueError, match="expression"):
            Expression(text)


def test_costs_from_toml(tmp_path):
    file = tmp_path / "cost.toml"
    file.write_text(
        'kind = "reject"\nprice = 0.3\n[cost]\nkind = "binary"\nfalse_positive = 1\n'
        'false_negative = { column = "amount", times = 0.5 }\n'
    )
    cost = read_cost(file, {"amount": [10, 20, 30]})
    assert isinstance(cost, RejectCost)
    np.testing.assert_allclose(cost.realised([1, 1, 0], [0, 2, 1]), [5, 0.3, 1])
    matrix = cost_from({"kind": "matrix", "matrix": [[0, 1], [5, 0]], "actions": ["wait", "treat"]})
    assert isinstance(matrix, CostMatrix) and matrix.names == ("wait", "treat")
    own = cost_from(
        {"kind": "matrix", "matrix": {"b": [{"column": "amount"}, 0], "a": [0, 1]}},
        {"amount": [10, 20, 30]},
    ).for_labels(["a", "b"])
    np.testing.assert_allclose(own.realised([1, 1, 0], [0, 1, 1]), [10, 0, 1])
    capped = cost_from(
        {"kind": "function", "expression": "minimum(abs(y - action), 5)", "actions": [0, 10]}
    )
    np.testing.assert_allclose(capped.realised([2, 9], [10, 10]), [5, 1])
    hypot = {"kind": "function", "function": "numpy:hypot", "lower": 0, "upper": 9}
    named = cost_from(hypot, trust="numpy:hypot")
    np.testing.assert_allclose(named.realised([3], [4]), [5])
    assert set(costs) == {
        "binary",
        "function",
        "interval",
        "matrix",
        "newsvendor",
        "reject",
        "square",
    }


_BINARY = 'kind = "binary"\nfalse_positive = 1\nfalse_negative = 9\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "needs kind"),
        ('kind = ["binary"]', "needs kind"),
        ('kind = "matrix"\n[matrix]', "must not be empty"),
        (_BINARY + 'positive = ["yes"]', "label of one class"),
        (_BINARY + 'positive = { column = "a" }', "label of one class, got {'column': 'a'}"),
        (
            'kind = "reject"\nprice = 1\n[cost]\nkind = "reject"\nprice = 1\n[cost.cost]\n'
            + _BINARY,
            "cannot be nested in another",
        ),
        ('kind = "gift"', "one of binary, function, interval, matrix"),
        ('kind = "function"\nlower = 0', "needs either expression"),
        ('kind = "function"\nfunction = "math"\nlower = 0\nupper = 1', "module:function"),
        ('kind = "function"\nfunction = "math:no"\nlower = 0\nupper = 1', "no function 'no'"),
        ('kind = "function"\nexpression = "z + y"\nlower = 0\nupper = 1', "uses 'z'"),
        ('kind = "function"\nexpression = "y if y else 1"\nlower = 0\nupper = 1', "not supported"),
        ('kind = "function"\nexpression = "y +"\nlower = 0\nupper = 1', "cannot be read"),
        ('kind = "function"\nexpression = "y.real"\nlower = 0\nupper = 1', "not supported"),
        ('kind = "reject"\nprice = 1\ncost = 3', "must be a table"),
        ('kind = "matrix"\nmatrix = 3', "a list of prices for each class"),
        ('kind = "matrix"\nmatrix = [[0, { column = "a" }], [1]]', "one price for each action"),
        ('kind = "binary"\nfalse_positive = 1', "missing: false_negative"),
        ('kind = "square"\nwieght = 1', "unknown: 'wieght'"),
        ('kind = "binary"\nfalse_positive = 1\nfalse_negative = { column = "z" }', "column 'z'"),
        ('kind = "square"\nweight = { row = 1 }', "must be a number or"),
        ("kind = ", "not valid TOML"),
        ('kind = "matrix"\nmatrix = [[{ column = "a" }, "q"], [1, 0]]', "must be numbers, got 'q'"),
        ('kind = "matrix"\nmatrix = [[{ column = "a" }, [1, 2]], [1, 0]]', "a number or a column"),
        ('kind = "matrix"\nmatrix = [[{ column = "a" }, 2020-01-01], [1, 0]]', "must be numbers"),
        (_BINARY.replace("9", "2020-01-01"), "must be numbers"),
        (_BINARY.replace("9", "9" * 400), "must be numbers"),
        (
            _BINARY.replace("9", '{ column = "a", times = ' + "9" * 400 + " }"),
            "a column of numbers times a number",
        ),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, text, complaint):
    file = tmp_path / "cost.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=complaint) as caught:
        read_cost(file, {"a": [1]})
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="there is no cost file"):
        read_cost(tmp_path / "none.toml")


def test_expected_costs_of_a_normal_are_those_of_the_textbook():
    """Newsvendor under N(0, 1): (under + over)·φ(z) at the critical quantile z."""
    normal = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    decision = decide(normal, NewsvendorCost(under=4, over=1))
    z = stats.norm.ppf(0.8)
    np.testing.assert_allclose(decision.expected_cost, 5 * stats.norm.pdf(z), rtol=1e-3)


def test_a_function_may_forgive_whole_batches():
    """No cost within 10 of y: what a row gets does not depend on the rows beside it."""

    def patient(y, action):
        return np.maximum(np.abs(y - action) - 10.0, 0.0)

    far = GaussianMixture(np.array([[0.0, 300.0]]), np.ones((1, 2)), np.zeros(1))
    for cost in (
        FunctionCost(patient, lower=-3, upper=3),
        FunctionCost(patient, actions=[-3, 0, 3]),
        FunctionCost(lambda y, a: 1.0 * (y > 250) * (y < 350) * (a > 0), actions=[0, 1]),
    ):
        alone, among = decide(far[:1], cost), decide(far, cost)
        assert alone.expected_cost[0] == among.expected_cost[0] == 0.0
        assert alone.action[0] == among.action[0]
    free = Expression("price * abs(y - action)", {"price": [0.0]})  # this row's, and no other's
    assert decide(far[:1], FunctionCost(free, actions=[0, 1])).expected_cost[0] == 0.0


def test_not_deciding_has_a_name_of_its_own():
    """Classes and actions may be called reject themselves."""
    decision = decide(BINARY, RejectCost(BinaryCost(1, 1, "reject"), 0.2), ["accept", "reject"])
    assert decision.cost.called([0, 1, 2]) == ["accept", "reject", "reject (undecided)"]
    base = ClassProbabilities(np.log(np.full((3, 2), 0.5)))
    policies = compare_policies(decision, ["accept", "reject", "reject"], base)
    assert len(policies) == 5  # the model, three that never change, the most probable class


def test_a_careless_function_cannot_change_what_others_are_told():
    def careless(y, action):
        y -= action
        return np.abs(y)

    with pytest.raises(ValueError, match="the cost function failed"):
        decide(GAUSSIAN, FunctionCost(careless, actions=[0, 1]))
    assert GAUSSIAN.nodes()[0] is GAUSSIAN.nodes()[0]  # worked out once


def test_kinks_at_round_numbers_are_met(rng):
    """Orders of counts by a cost of one's own are whole numbers, like the newsvendor's."""
    counts = PoissonExp().predictive(
        rng.normal(2.0, 0.5, (1, 6, 1)), np.full((1, 6, 1), 0.05), np.zeros(1)
    )
    own = FunctionCost(lambda y, a: np.where(y > a, 4 * (y - a), a - y), lower=0, upper=60)
    found = decide(counts, own)
    np.testing.assert_array_equal(found.action, np.round(found.action))
    np.testing.assert_array_equal(found.action, decide(counts, NewsvendorCost(4, 1)).action)


def test_a_range_of_actions_may_be_the_smallest_that_there_is():
    cost = FunctionCost(lambda y, action: abs(y - action), lower=0.0, upper=1e-320)
    chosen = cost.best(GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))).action
    assert np.all((chosen >= 0.0) & (chosen <= 1e-320))
