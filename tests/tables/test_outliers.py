"""Gross outliers are found; data that are merely skewed or heavy-tailed are left alone."""

import numpy as np
import pytest

from directgp.tables.outliers import gross_outliers

ROWS = 5000


def _draw(name):
    rng = np.random.default_rng(0)
    return {
        "normal": lambda: 20 + 3 * rng.standard_normal(ROWS),
        "uniform": lambda: rng.uniform(-1, 1, ROWS),
        "exponential": lambda: rng.exponential(5.0, ROWS),
        "incomes": lambda: np.exp(10 + rng.standard_normal(ROWS)),
        "losses": lambda: -np.exp(10 + rng.standard_normal(ROWS)),
        "rainfall": lambda: rng.exponential(1, ROWS) ** 2 * (rng.uniform(size=ROWS) < 0.6),
        "two groups": lambda: (
            np.where(rng.uniform(size=ROWS) < 0.3, 1000.0, 0.0) + rng.standard_normal(ROWS)
        ),
        "mostly one value": lambda: np.where(rng.uniform(size=ROWS) < 0.2, 5.0, 0.0),
        "constant": lambda: np.full(ROWS, 3.0),
        "laplace": lambda: rng.laplace(size=ROWS),
    }[name]()


ORDINARY = [
    "normal", "uniform", "exponential", "incomes", "losses", "rainfall", "two groups",
    "mostly one value", "constant", "laplace",
]  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_data_have_none(name):
    assert gross_outliers(_draw(name)) == 0


@pytest.mark.parametrize("name", ["normal", "uniform", "exponential", "incomes", "laplace"])
@pytest.mark.parametrize("share", [0.001, 0.05])
def test_values_of_another_world_are_counted(name, share):
    y = _draw(name)
    broken = np.arange(len(y)) < share * len(y)
    y[broken] = 1e9  # what a sensor says when it has nothing to say
    assert gross_outliers(y) == broken.sum()
    assert gross_outliers(-y) == broken.sum()
    assert gross_outliers(1e-6 * y) == broken.sum()


def test_zeros_among_large_numbers_are_outliers_and_more_than_a_tenth_are_not():
    rng = np.random.default_rng(0)
    y = 100 + rng.standard_normal(1000)
    y[:3] = 0.0
    assert gross_outliers(y) == 3
    y[:101] = 0.0
    assert gross_outliers(y) == 0


def test_heavy_tails_that_a_student_t_explains_better_are_found():
    assert gross_outliers(np.random.default_rng(0).standard_t(2, ROWS)) > 0
