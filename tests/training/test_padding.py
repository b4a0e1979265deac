"""Padding changes shapes and nothing else."""

import numpy as np
import pytest

import directgp as dg
from directgp import fitting
from directgp.training.padding import padded_columns, padded_rows


@pytest.mark.parametrize("count", [2, 100, 128, 129, 256, 257, 353, 500, 513, 999, 1000])
def test_padded_rows_hold_all_rows_and_waste_little(count):
    size = padded_rows(count)
    assert size >= count and (count <= 256 or size <= 1.25 * count)
    assert padded_rows(size) == size


@pytest.mark.parametrize("count", [1, 4, 16, 17, 32, 33, 500])
def test_padded_columns_hold_all_columns(count):
    assert padded_columns(count) >= count and padded_columns(
        padded_columns(count)
    ) == padded_columns(count)


@pytest.mark.parametrize(
    "options", [{"beta": 0.5, "validation": 0.2}, {"loss": "direct-square", "beta": 1.0}], ids=str
)
def test_a_fit_is_the_same_with_and_without(options, rng, monkeypatch):
    X = rng.normal(size=(40, 3))
    y, weight = np.sin(X[:, 0]), rng.uniform(0.5, 2.0, size=40)
    settings = {
        "max_steps": 100,
        "num_inducing": 10,
        "sample_weight": weight,
        "beta": 0.5,
        **options,
    }
    with_padding = dg.fit(X, y, **settings)
    monkeypatch.setattr(fitting, "in_shared_size", lambda ready: ready)
    without = dg.fit(X, y, **settings)
    assert with_padding.gp.model.inducing.shape == without.gp.model.inducing.shape == (10, 3)
    for name in ("mean", "std"):
        np.testing.assert_allclose(
            getattr(with_padding.predict(X), name), getattr(without.predict(X), name), rtol=1e-6
        )
    np.testing.assert_allclose(
        with_padding.history["objective"], without.history["objective"], rtol=1e-8
    )
