"""Permutation importance: what the log score loses, by the user's columns."""

import numpy as np

from directgp.predictive import GaussianMixture
from directgp.report.permutation import permutation_importance


def linear(*slopes):
    """A model whose mean is linear in the columns, with deviation 1."""

    def predict(X):
        mean = X[:, : len(slopes)] @ np.asarray(slopes)
        return GaussianMixture(mean[None], np.ones((1, len(X))), np.zeros(1))

    return predict


def rows(rng, columns, number=200):
    return rng.normal(size=(number, columns))


def test_shares_are_those_of_the_squared_slopes(rng):
    X = rows(rng, 3, 300)
    # Shuffling adds slope² (x − x')² / 2 to the loss, slope² on average: 1 to 4.
    found = permutation_importance(linear(1.0, 2.0, 0.0), X, X @ [1.0, 2.0, 0.0], ["a", "b", "c"])
    assert list(found) == ["b", "a", "c"]
    np.testing.assert_allclose([found["a"], found["b"], found["c"]], [0.2, 0.8, 0.0], atol=0.06)
    np.testing.assert_allclose(sum(found.values()), 1.0)


def test_inputs_of_one_column_are_shuffled_together(rng):
    level = rng.integers(0, 2, 200)
    X = np.column_stack([level, 1 - level, rng.normal(size=200)]).astype(float)
    asked = []

    def predict(X):
        asked.append(X.copy())
        return linear(3.0, -3.0, 0.0)(X)

    found = permutation_importance(predict, X, 3.0 * X[:, 0] - 3.0 * X[:, 1], ["kind", "kind", "x"])
    assert found == {"kind": 1.0, "x": 0.0}
    assert all(np.all(given[:, 0] + given[:, 1] == 1.0) for given in asked)
    assert len(asked) == 3  # as they are, and once for each of the user's columns


def test_a_column_that_misleads_has_no_share(rng):
    X = rows(rng, 2)
    found = permutation_importance(linear(1.0, 1.0), X, X[:, 0] - X[:, 1], ["good", "bad"])
    assert found == {"good": 1.0, "bad": 0.0}


def test_a_column_of_random_numbers_has_a_share_by_rare_chance_only():
    shares = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rows(rng, 2, 30)
        y = 2.0 * X[:, 0] + rng.normal(size=30)
        shares.append(permutation_importance(linear(2.0, 0.3), X, y, ["real", "random"]))
    assert all(each["real"] > 0.9 for each in shares)
    assert sum(each["random"] > 0 for each in shares) <= 4


def test_nothing_to_tell(rng):
    X = rows(rng, 2)
    assert permutation_importance(linear(0.0, 0.0), X, X[:, 0], ["a", "b"]) == {}
    assert permutation_importance(linear(1.0), X[:1], X[:1, 0], ["a", "b"]) == {}
    wide = rows(rng, 61)
    assert permutation_importance(linear(1.0), wide, wide[:, 0], [f"x{k}" for k in range(61)]) == {}


def test_the_rows_given_stay_as_they_are_and_many_are_sampled(rng):
    X = rows(rng, 2, 1000)
    before, sizes = X.copy(), set()

    def predict(X):
        sizes.add(len(X))
        return linear(1.0)(X)

    one = permutation_importance(predict, X, X[:, 0], ["a", "b"])
    assert one == permutation_importance(predict, X, X[:, 0], ["a", "b"])
    assert sizes == {300}
    np.testing.assert_array_equal(X, before)
