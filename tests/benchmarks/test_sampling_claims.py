"""The paper's samplers as they are timed: exact, and their tables have what they promise."""

import numpy as np
import pytest
from scipy import integrate, stats

from benchmarks.sampling_claims import (
    KINDS,
    Rows,
    draw_by_row,
    hybrid_rows,
    multiple,
    per_second_rows,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize("mean,y", [(-0.5, 1.0), (1.0, 0.0)])
def test_draws_are_exact(kind, rounds, mean, y):
    log_prob, _ = KINDS[kind]
    number = 1500
    rows = Rows(np.full(number, mean), np.full(number, 0.6), np.full(number, y))
    draws = draw_by_row(kind, rows, np.random.default_rng(1), rounds)
    grid = np.linspace(mean - 6, mean + 6, 4001)
    density = np.exp(-0.5 * (grid - mean) ** 2 / 0.6 + log_prob(y, grid))
    upto = integrate.cumulative_trapezoid(density, grid, initial=0.0)
    cdf = upto / upto[-1]
    assert stats.kstest(draws, lambda f: np.interp(f, grid, cdf)).pvalue > 1e-3


def test_wide_proposals_stay_below_their_bound():
    """q(f) p(y | f) ≤ N(f | μ, n v) max p, with some n above one."""
    log_prob, peak_of = KINDS["poisson"]
    f, chosen = np.linspace(-8, 12, 20001), []
    for mean, variance, y in ((0.2, 0.3, 4.0), (1.5, 0.05, 4.0), (2.0, 1.0, 1.0)):
        n = multiple(log_prob, y, peak_of(y), mean, variance)
        q, h = (stats.norm.logpdf(f, mean, np.sqrt(v)) for v in (variance, n * variance))
        assert np.max(q + log_prob(y, f) - h - log_prob(y, peak_of(y))) < 1e-9
        chosen.append(n)
    assert max(chosen) > 1


def test_tables():
    for row in hybrid_rows(rounds=1, wait=0.0, number=12):
        assert row["hybrid saves"] == pytest.approx(1 - row["hybrid ms"] / row["row by row ms"])
        assert row["envelope ms"] > 0
    rows = per_second_rows(repeats=60, wait=0.0, number=60, samples=(1,))
    assert [row["gradient"] for row in rows] == ["bMC", "uPS"] * 2
    for row in rows:
        assert row["error after a second"] ** 2 == pytest.approx(
            row["bias"] ** 2 + row["noise"] ** 2 * row["ms"] / 1e3
        )
    # With one sample bMC is the gradient of E[log p]: another direction altogether.
    assert rows[0]["bias"] > 3 * rows[1]["bias"]
