"""The judges of overconfidence notice what they are for, and measure nothing without tables."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from directgp.predictive import GaussianMixture
from tests.attack import arena, overconfidence
from tests.attack.overconfidence import judge_classes, judge_numbers

_ROWS = 400


def _normal(truth: np.ndarray, deviation: float) -> GaussianMixture:
    """A forecast around the truth whose errors have deviation 1."""
    mean = truth + np.random.default_rng(1).normal(size=len(truth))
    return GaussianMixture(mean[None], np.full((1, len(truth)), deviation**2), np.zeros(1))


def test_a_forecast_that_is_too_sure_is_noticed():
    truth = 3.0 * np.random.default_rng(0).normal(size=_ROWS)
    assert judge_numbers(_normal(truth, 1.0), truth, truth)[0] == "sound"
    for deviation in (0.5, 0.2, 0.01):  # 90 % intervals cover 59, 26 and 1 %
        outcome, _ = judge_numbers(_normal(truth, deviation), truth, truth)
        assert "intervals cover" in outcome


def test_a_forecast_worse_than_a_gaussian_is_noticed():
    truth = np.random.default_rng(0).normal(size=_ROWS)
    wide = GaussianMixture(np.zeros((1, _ROWS)), np.full((1, _ROWS), 25.0), np.zeros(1))
    outcome, said = judge_numbers(wide, truth, truth)
    assert outcome == said and "100.0 %" in said  # they cover all, and say too little
    usual = GaussianMixture(np.zeros((1, _ROWS)), np.ones((1, _ROWS)), np.zeros(1))
    assert judge_numbers(usual, truth, truth)[0] == "sound"


def test_counts_are_judged_by_the_mass_of_a_gaussian_about_each():
    truth = np.random.default_rng(0).poisson(20.0, _ROWS).astype(float)
    fitted = stats.norm(truth.mean(), truth.std(ddof=1))
    low, high = fitted.ppf(0.05), fitted.ppf(0.95)
    same = SimpleNamespace(
        quantile=lambda levels: np.tile([low, high], (_ROWS, 1)),
        log_prob=lambda y: np.log(fitted.cdf(y + 0.5) - fitted.cdf(y - 0.5)),
    )
    outcome, said = judge_numbers(same, truth, truth, counts=True)
    ours, usual = said.split("log loss ")[1].split(",")[0].split(" against ")
    assert outcome == "sound" and ours == usual


def test_probabilities_worse_than_frequencies_are_noticed():
    y = np.arange(_ROWS) % 4
    assert judge_classes(np.full(_ROWS, 0.25), y, y)[0] == "sound"
    assert judge_classes(np.full(_ROWS, 0.9), y, y)[0] == "sound"
    sure = np.where(np.arange(_ROWS) % 10 == 0, 1e-12, 0.99)
    assert "log loss" in judge_classes(sure, y, y)[0]
    assert "log loss" in judge_classes(np.where(np.arange(_ROWS) == 0, 0.0, 0.9), y, y)[0]


def test_the_arena_without_tables_is_bad(tmp_path, monkeypatch):
    monkeypatch.setenv("DIRECTGP_DATA", str(tmp_path / "nothing"))
    tables = [table for table in arena.all_tables() if table.package == "parquet"]
    monkeypatch.setattr(arena, "all_tables", lambda: tables[:3])
    told: list[str] = []
    result = arena.attack(3, tell=told.append)
    assert [outcome for outcome in result.bad if "no table was found" in outcome]
    assert sum(each[arena.MISSING] for each in result.counts.values()) == 3
    assert all("no tables at" in said for said in told[:3])


@pytest.mark.parametrize("error", [OSError("no room"), ValueError("no fit"), MemoryError()])
def test_a_fit_that_fails_is_not_a_table_that_is_not_there(error, monkeypatch):
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(arena, "_FITS", dict.fromkeys(arena._FITS, fails))
    tables = [table for table in arena.all_tables() if table.package == "sklearn"]
    monkeypatch.setattr(arena, "all_tables", lambda: tables[:1])
    (bad,) = arena.attack(1).bad
    assert type(error).__name__ in bad and tables[0].name in bad
    monkeypatch.setattr(overconfidence, "_of_classes", fails)
    monkeypatch.setattr(overconfidence, "_of_numbers", fails)
    monkeypatch.delenv("DIRECTGP_DATA", raising=False)
    assert all(type(error).__name__ in bad for bad in overconfidence.attack(2).bad)
