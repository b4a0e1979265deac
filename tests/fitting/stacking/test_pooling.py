"""The spread of a pool: narrower where members differ, unchanged where they agree."""

import numpy as np
import pytest

from directgp.fitting.stacking.member import Components
from directgp.fitting.stacking.pooling import pooled
from directgp.fitting.stacking.stacked_density import log_density, mixed


def _pool(means, deviation, y):
    def parts_at(factor):
        return [
            Components(mean[None], np.full((1, len(y)), deviation * factor), np.ones(1))
            for mean in means
        ]

    return pooled(
        parts_at,
        lambda parts: np.full(len(parts), 1 / len(parts)),
        lambda parts, weights: float(log_density(mixed(parts, weights), y).sum()),
    )


@pytest.fixture
def two_views(rng):
    """Two calibrated predictions of y, each from one half of what is known: deviation √(1 + 1)."""
    parts = rng.standard_normal((2, 2000))
    return list(parts), parts.sum(axis=0) + rng.standard_normal(2000)


def test_a_mixture_of_calibrated_members_is_narrowed(two_views):
    means, y = two_views
    found = _pool(means, np.sqrt(2.0), y)
    # The factor without a prior, by a fine grid.
    grid = np.linspace(0.5, 1.0, 101)

    def score(factor):
        sd = np.sqrt(2.0) * factor
        parts = [Components(m[None], np.full((1, len(y)), sd), np.ones(1)) for m in means]
        return log_density(mixed(parts, np.full(2, 0.5)), y).sum()

    assert found.factor == pytest.approx(grid[np.argmax([score(f) for f in grid])], abs=0.05)
    assert found.factor < 0.9


def test_members_that_agree_keep_their_spread(rng):
    mean = rng.standard_normal(2000)
    found = _pool([mean, mean], 1.0, mean + rng.standard_normal(2000))
    assert found.factor > 0.94


def test_few_rows_narrow_little(two_views):
    means, y = two_views
    few = _pool([mean[:6] for mean in means], np.sqrt(2.0), y[:6])
    assert few.factor > _pool(means, np.sqrt(2.0), y).factor


def test_one_member_is_left_as_it_is(two_views):
    means, y = two_views
    found = _pool(means[:1], 5.0, y)
    assert (found.factor, found.weights.tolist()) == (1.0, [1.0])
