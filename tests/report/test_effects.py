"""Effects of columns are those of the model, in the values of the column."""

import numpy as np

from directgp.predictive import ClassProbabilities, GaussianMixture
from directgp.report.effects import effects, figure


def product(X):
    """A mean that falls in the first column and is its product with the second."""
    mean = (X[:, 0] * X[:, 1])[None]
    return GaussianMixture(mean, np.ones_like(mean), np.zeros(1))


def test_the_mean_over_rows_and_their_middle_half(rng):
    X = rng.normal(size=(100, 3))
    found = effects(product, X, {"a": 0, "c": 2})
    a = found["a"]
    np.testing.assert_allclose(a.mean, a.values * X[:, 1].mean())
    ends = np.quantile(a.values[:, None] * X[:, 1], (0.25, 0.75), axis=1)
    np.testing.assert_allclose([a.low, a.high], ends)
    assert np.ptp(found["c"].mean) == 0.0 and len(a.values) == 12
    page = figure("a", a, "price")
    assert "Effect of a" in page and "predicted price" in page


def test_values_are_those_of_a_column_that_has_few(rng):
    X = np.column_stack([rng.integers(0, 3, 50), np.ones(50)]).astype(float)
    found = effects(product, X, {"a": 0, "constant": 1})
    assert list(found) == ["a"]
    assert found["a"].values.tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(found["a"].mean, found["a"].values)


def test_of_two_classes_the_probability_of_the_second_and_of_more_nothing(rng):
    def classes(number):
        def predict(X):
            return ClassProbabilities(np.log(np.tile([0.25, 0.75, 1e-9][:number], (len(X), 1))))

        return predict

    X = rng.normal(size=(20, 1))
    np.testing.assert_allclose(effects(classes(2), X, {"a": 0})["a"].mean, 0.75)
    assert effects(classes(3), X, {"a": 0}) == {}
