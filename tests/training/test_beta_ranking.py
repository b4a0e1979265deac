"""Which β is best by hand-made losses of held-out rows."""

import math

import numpy as np
import pytest

from directgp.training.beta_ranking import distance_from_one, ranked, standard_error


def test_candidates_that_cannot_be_told_apart_are_ranked_by_their_distance_from_one():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=400)
    noise = rng.normal(size=400)
    noise -= noise.mean()
    losses = {
        16.0: rows + 0.04 + noise,  # within one standard error (0.05) of the best
        4.0: rows + 0.06 + noise,  # just outside
        0.5: rows + 5.0 + noise,
        0.01: rows,
        2.0: np.full(1, np.inf),  # failed
    }
    assert ranked(losses) == [16.0, 0.01, 4.0, 0.5, 2.0]
    sure = {beta: rows + gap for beta, gap in ((1.0, 1e-6), (0.1, 0.0), (0.0, 2.0))}
    assert ranked(sure) == [0.1, 1.0, 0.0], "a certain difference counts, however small"


def test_a_single_row_chooses_the_weight_of_the_prior():
    one_row = {beta: np.array([loss]) for beta, loss in ((0.01, 0.0), (0.9, 5.0), (50.0, 1.0))}
    assert ranked(one_row) == [0.9, 50.0, 0.01]
    assert ranked(one_row | {1.0: np.array([np.inf])})[-1] == 1.0


def test_one_row_that_differs_much_does_not_decide():
    """Heavy-tailed differences: the smaller mean comes from a single row."""
    rows = np.zeros(100)
    lucky = rows.copy()
    lucky[0] = -4.0
    assert ranked({1.0: rows, 0.01: lucky}) == [1.0, 0.01]
    assert ranked({1.0: rows, 0.01: rows - 0.04}) == [0.01, 1.0], "the same mean, in every row"


def test_no_candidate_but_failed_ones_is_still_a_list():
    assert sorted(ranked({1.0: np.full(1, np.inf), 2.0: np.full(1, np.inf)})) == [1.0, 2.0]


@pytest.mark.parametrize("values,error", [([1.0], math.inf), ([0.0, 2.0], 1.0), ([3.0] * 9, 0.0)])
def test_the_standard_error_is_that_of_the_mean(values, error):
    assert standard_error(np.array(values)) == pytest.approx(error)


def test_distance_is_the_same_on_both_sides_of_one():
    assert distance_from_one(8.0) == pytest.approx(distance_from_one(0.125))
    assert distance_from_one(0.0) == math.inf and distance_from_one(1.0) == 0.0
