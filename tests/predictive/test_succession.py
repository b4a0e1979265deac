"""The rule of succession: sums to one, bounded below, costs next to nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from directgp.predictive import ClassProbabilities
from directgp.predictive.succession import with_further_row


@given(st.integers(2, 12), st.floats(1.0, 1e7), st.integers(0, 2**32 - 1))
def test_probabilities_sum_to_one_and_keep_their_order_and_their_bounds(classes, rows, seed):
    logits = np.random.default_rng(seed).normal(size=(5, classes)) * 200
    given_p = ClassProbabilities(log_softmax(logits, axis=1))
    bounded = given_p.with_further_row(rows)
    p = bounded.probabilities
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert p.min() >= (1 - 1e-9) / (classes * (rows + 1))
    np.testing.assert_array_equal(bounded.predicted, given_p.predicted)
    np.testing.assert_allclose(
        p, (rows * given_p.probabilities + 1 / classes) / (rows + 1), rtol=1e-9
    )


def test_no_row_costs_more_than_a_further_row_of_unknown_class_would():
    log_p = -np.geomspace(1e-6, 1e5, 50)
    loss = -with_further_row(log_p, 455, 2)
    assert loss.max() <= np.log(2 * 456) + 1e-12
    assert (loss + log_p).max() <= np.log1p(1 / 455) + 1e-9


@pytest.mark.parametrize("rows,lowest", [(0.0, 0.5), (1.0, 0.25), (99.0, 0.005)])
def test_more_rows_support_more_confidence(rows, lowest):
    with np.errstate(divide="ignore"):
        found = np.exp(with_further_row(np.array([-np.inf, 0.0]), rows, 2))
    np.testing.assert_allclose(found, [lowest, 1 - lowest])
