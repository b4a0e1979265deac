"""Judges say yes to what is so, no to what is not, and count it right."""

from dataclasses import replace

import pytest

from directgp.reproduce.judges import Evidence, difference, judge, judges
from directgp.reproduce.results import Row
from directgp.reproduce.spec import Spec


def rows_of(values, **labels):
    """Rows of one method: a value for each seed."""
    return [
        Row(labels | {"seed": seed}, {"nll": float(value)}) for seed, value in enumerate(values)
    ]


NOISE = [0.0, 0.3, -0.2, 0.1]
LOW = rows_of([1 + e for e in NOISE], data="a", method="low")
HIGH = rows_of([1.5 + 1.1 * e for e in NOISE], data="a", method="high")
SAME = rows_of([1.01 + e for e in reversed(NOISE)], data="a", method="same")


def test_a_difference_is_paired_and_has_students_interval():
    found = difference(LOW, HIGH, "nll")
    # Differences −0.5 − 0.1·noise: mean −0.505, sd 0.02082, t(3) = 3.1824, so 3.1824 · 0.01041.
    assert found.mean == pytest.approx(-0.505)
    assert found.half_width == pytest.approx(0.033126, rel=1e-4)
    assert found.sign == -1 and difference(HIGH, LOW, "nll").sign == 1
    assert difference(LOW, SAME, "nll").sign == 0


def test_one_seed_is_never_clear_unless_the_paper_has_one():
    assert difference(LOW[:1], HIGH[:1], "nll").sign == 0
    assert difference(LOW[:1], HIGH[:1], "nll", single=True).sign == -1
    assert difference(LOW[:1], HIGH[1:], "nll") is None


def outcome(name, rows, **options):
    return judges.lookup(name)(rows, **options).outcome


def test_lower():
    rows = LOW + HIGH + SAME
    claim = {"score": "nll", "methods": ["low"]}
    assert outcome("lower", rows, **claim, than=["high"]) == "reproduced"
    assert outcome("lower", rows, **claim, than=["high", "same"]) == "partly"
    assert outcome("lower", rows, **claim, than=["same"]) == "not"
    assert outcome("lower", rows, **claim, than=["absent"]) == "not run"
    assert outcome("lower", rows, score="nll", methods=["high", "low"], than=["same"]) == "not"


def test_a_claim_for_most_datasets_allows_for_the_others():
    other = [Row(row.labels | {"data": "b"}, row.scores) for row in LOW + HIGH]
    swapped = {"low": "high", "high": "low"}
    third = [
        Row(row.labels | {"data": "c", "method": swapped[row["method"]]}, row.scores)
        for row in LOW + HIGH
    ]
    rows = LOW + HIGH + other + third
    claim = {"score": "nll", "methods": ["low"], "than": ["high"]}
    assert outcome("lower", rows, **claim) == "partly"
    assert outcome("lower", rows, **claim, least=2 / 3) == "reproduced"
    reason = judges.lookup("lower")(rows, **claim).reason
    assert "lower in 2 of 3" in reason and "clearly higher in 1" in reason
    assert "c low − high = +0.505" in reason


def test_not_higher():
    rows = LOW + HIGH + SAME
    claim = {"score": "nll", "than": ["low"]}
    assert outcome("not-higher", rows, methods=["same"], **claim) == "reproduced"
    assert outcome("not-higher", rows, methods=["high"], **claim) == "not"
    # The better of two counts: "taken together".
    assert outcome("not-higher", rows, methods=["high", "same"], **claim) == "reproduced"


def test_close():
    rows = LOW + HIGH + SAME
    claim = {"score": "nll", "methods": ["same"], "to": "low"}
    assert outcome("close", rows, **claim, within=0.02) == "reproduced"
    assert outcome("close", rows, **claim, within=0.005) == "not"
    assert outcome("close", rows, **claim, within=0.05, of="high") == "reproduced"
    assert outcome("close", rows, **claim, within=0.01, of="high") == "not"


def test_ranks_and_monotone():
    rows = LOW + HIGH + SAME
    assert outcome("ranks", rows, score="nll", order=["low", "same", "high"]) == "reproduced"
    assert outcome("ranks", rows, score="nll", order=["same", "low"]) == "not"
    assert outcome("ranks", rows, score="nll", order=["same", "low"], slack=0.02) == "reproduced"
    path = [Row({"size": n, "seed": 0}, {"nll": v}) for n, v in ((200, 3.0), (50, 4.0), (9, 5.0))]
    assert outcome("monotone", path, score="nll", along="size") == "reproduced"
    assert outcome("monotone", path, score="nll", along="size", direction="rising") == "not"


def test_optimum():
    path = [
        Row({"method": "a", "beta": b, "seed": 0}, {"nll": (b - 10) ** 2}) for b in (0.1, 1, 10, 99)
    ]
    claim = {"score": "nll", "along": "beta", "bound": 1}
    assert outcome("optimum", path, **claim, side="above") == "reproduced"
    assert outcome("optimum", path, **claim, side="below") == "not"
    assert "lowest nll at beta = 10" in judges.lookup("optimum")(path, **claim, side="above").reason


def evidence_of(rows, claims):
    spec = Spec("toy/x", "t", "f", "c", {"kind": "fit"}, claims=claims)
    return Evidence(spec, "quick", rows, len(rows), len(rows), 0.0)


def test_nothing_is_judged_from_a_part_of_the_runs():
    lower = {"says": "l", "judge": "lower", "score": "nll", "methods": ["low"], "than": ["high"]}
    some = replace(evidence_of(LOW + HIGH, [lower]), planned=30, enough=False)
    whole, ((_, single),) = judge(some)
    assert whole.outcome == single.outcome == "not run" and "8 of 30 runs" in whole.reason


def test_a_figure_is_as_good_as_its_claims():
    lower = {"says": "l", "judge": "lower", "score": "nll", "methods": ["low"], "than": ["high"]}
    wrong = lower | {"methods": ["high"], "than": ["low"]}
    elsewhere = lower | {"where": {"data": "b"}}
    rows = LOW + HIGH
    whole = [judge(evidence_of(rows, claims))[0].outcome for claims in (
        [lower], [lower, wrong], [wrong], [elsewhere], [lower, elsewhere]
    )]  # fmt: skip
    assert whole == ["reproduced", "partly", "not", "not run", "partly"]
