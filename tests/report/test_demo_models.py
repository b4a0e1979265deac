"""The models of the demonstration: their problems, tables and sentences."""

import numpy as np
import pytest

from directgp import GaussianMixture, metrics
from directgp.report import demo_models as demo


def test_the_table_of_a_problem_without_known_truth_has_no_row_for_it(rng):
    problem = demo.diabetes(seed=0)
    y = np.concatenate([split.test.y for split in problem.splits])
    outcomes = {method.name: outcome(y, 150.0, 70.0) for method in demo.METHODS}
    assert demo.score_table(problem, outcomes).row_count == 3


def outcome(y, mean, std) -> demo.Outcome:
    rows = np.ones((1, len(y)))
    return demo.Outcome(GaussianMixture(mean * rows, std**2 * rows, np.zeros(1)), y, (1.0,), 0.1)


@pytest.mark.parametrize(
    ("direct", "result"),
    [
        ((0.0, 1.0), "The direct loss is better"),
        ((0.0, 9.0), "The direct loss is not better"),
        ((0.001, 3.0), "No clear difference"),
    ],
)
def test_the_verdict_follows_the_numbers_whoever_wins(rng, direct, result):
    y = rng.standard_normal(500)
    baseline = outcome(y, 0.0, 3.0)
    found = demo.verdict({"ELBO": baseline, "β-ELBO": baseline, "direct": outcome(y, *direct)})
    assert found.startswith(result)


def test_the_verdict_tells_when_the_mean_is_worse(rng):
    y = rng.standard_normal(500)
    baseline, biased = outcome(y, 0.0, 1.0), outcome(y, 2.0, 2.0)
    found = demo.verdict({"ELBO": baseline, "β-ELBO": baseline, "direct": biased})
    assert "is not better" in found and "Its mean is worse than the ELBO's" in found


def test_the_truth_of_the_generated_problem_is_its_truth():
    problem = demo.generated(seed=3, quick=False)
    test, truth = problem.splits[0].test, problem.test_truth
    assert metrics.coverage(truth, test.y) == pytest.approx(0.9, abs=0.015)
    assert np.mean(metrics.pit(truth, test.y)) == pytest.approx(0.5, abs=0.015)


def test_the_folds_of_the_real_table_do_not_overlap():
    splits = demo.diabetes(seed=0).splits
    tests = np.concatenate([split.test.X for split in splits])
    assert len(np.unique(tests, axis=0)) == len(tests) == 440
    for split in splits:
        parts = np.concatenate([part.X for part in split])
        assert len(np.unique(parts, axis=0)) == len(parts) == 440
