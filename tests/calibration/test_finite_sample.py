"""The rank that a finite number of rows can vouch for: exact, not about right."""

from fractions import Fraction

import numpy as np
import pytest

from directgp.calibration.finite_sample import least_rows, missed_rank, threshold

COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_leaving_each_of_n_plus_1_scores_out_misses_exactly_the_promised_number(coverage):
    """Every order of exchangeable scores is equally likely, so this count is the guarantee."""
    for n in range(1, 60):
        scores = np.random.default_rng(n).permutation(n + 1).astype(float)
        missed = sum(
            scores[k] < threshold(np.delete(scores, k), coverage) for k in range(len(scores))
        )
        assert missed == missed_rank(n, coverage)
        allowed = (n + 1) * (1 - Fraction(repr(coverage)))
        assert missed <= allowed < missed + 1  # one more would break the promise


@pytest.mark.parametrize(("coverage", "rows"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19)])
def test_the_least_number_of_rows_is_the_first_with_a_threshold(coverage, rows):
    assert least_rows(coverage) == rows
    assert np.isneginf(threshold(np.zeros(rows - 1), coverage))
    assert threshold(np.zeros(rows), coverage) == 0.0


def test_coverage_in_simulation_is_within_a_rank_of_the_promise():
    """19 rows, 90 %: exactly 18 of 20 ranks are inside; a rank more or less would be ± 5 %."""
    rng = np.random.default_rng(0)
    repeats = 4000
    scores = rng.standard_cauchy((repeats, 20))
    inside = [row[-1] >= threshold(row[:-1], 0.9) for row in scores]
    error = np.sqrt(0.9 * 0.1 / repeats)
    assert abs(np.mean(inside) - 0.9) < 4 * error


def test_tied_scores_only_add_coverage():
    scores = np.array([1.0] * 5 + [2.0] * 15)
    missed = sum(scores[k] < threshold(np.delete(scores, k), 0.9) for k in range(20))
    assert missed == 0 <= missed_rank(19, 0.9)
