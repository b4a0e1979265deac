"""k-means: scikit-learn's own centres, without its import."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from directgp.training.kmeans import kmeans_centres


@pytest.mark.parametrize(("rows", "columns", "number"), [(300, 3, 20), (50, 1, 7), (200, 8, 1)])
def test_centres_are_those_of_scikit_learn(rows, columns, number):
    generator = np.random.default_rng(rows)
    X = generator.normal(size=(rows, columns)) * generator.uniform(0.1, 5.0, columns) + 3.0
    weights = generator.integers(1, 4, rows).astype(float)
    theirs = KMeans(number, init="random", n_init=1, max_iter=10, tol=1e-3, random_state=5)
    theirs.fit(X, sample_weight=weights)
    found = kmeans_centres(X, weights, number, seed=5)
    np.testing.assert_allclose(found, theirs.cluster_centers_, rtol=1e-9)


def test_an_empty_cluster_moves_to_the_furthest_row():
    X = np.concatenate([np.zeros((30, 1)), [[100.0]]])
    found = np.unique(kmeans_centres(X, np.ones(31), 3, seed=1))
    assert found[0] == pytest.approx(0.0) and found[-1] == pytest.approx(100.0)
