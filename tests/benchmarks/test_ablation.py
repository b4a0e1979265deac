"""Ablations change what they say, and their table has the differences."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.arena import ablation
from benchmarks.arena.ablation_page import ablation as section
from benchmarks.arena.store import write_run
from benchmarks.arena.tables import Problem
from directgp.fitting.stacking import regression


@pytest.fixture
def problem(rng):
    X = pd.DataFrame({"a": rng.uniform(-2, 2, 70), "b": rng.uniform(-2, 2, 70)})
    y = np.exp(np.sin(2 * X["a"]) + 0.1 * rng.standard_normal(70)).to_numpy()
    return Problem("regression", X, y, X[:5], 0)


def test_every_variant_is_there_and_predicts(problem, monkeypatch):
    fitted = []
    original = regression.FittedStack
    monkeypatch.setattr(
        regression, "FittedStack", lambda **parts: fitted.append(parts) or original(**parts)
    )
    usual = ablation.regressor(problem)
    members, weights = fitted[0]["members"], fitted[0]["weights"]
    for label in ablation.VARIANTS:
        if label == "one GP, β = 1":
            continue  # trains a GP, which other tests do
        module, name = ablation.method_of(label).split(":")
        assert module == ablation.__name__
        found = getattr(ablation, name)(problem)
        assert np.isfinite(found.mean).all()
        own, shares = fitted[-1]["members"], fitted[-1]["weights"]
        if label in ("without exact GP", "without mean", "without trees", "without trees + GP"):
            gone = ablation.MEMBERS.index(label.removeprefix("without "))
            assert shares[gone] == 0 and shares.sum() == pytest.approx(1.0)
        elif label == "without local scale":
            assert all(member.scale is None for member in own)
        elif label == "without form of errors":
            assert all(np.all(member.shape.centre == 0) for member in own)
        elif label == "equal weights":
            np.testing.assert_allclose(shares, 1 / 4)
        elif label == "without logarithm":
            assert fitted[-1]["warp"] is None
        elif label == "without common spread":
            factors = [[each.factor for each in some] for some in (own, members)]
            assert np.all(np.array(factors[0]) >= np.array(factors[1]))
        elif label == "without deep GP":  # which so few rows do not have
            np.testing.assert_array_equal(found.mean, usual.mean)
    assert weights.min() > 0


def test_the_table_has_differences_from_the_default_on_the_same_splits(tmp_path):
    line = {"kind": "regression", "table": "yacht", "crps": 0.5, "rmse": 1.0, "coverage": 0.9}
    for seed, method, nll, seconds in (
        (0, "directgp", 1.0, 2.0),
        (1, "directgp", 2.0, 2.0),
        (0, "equal weights", 1.5, 1.0),
        (1, "equal weights", 1.9, 1.0),
        (2, "equal weights", 9.0, 1.0),  # no run of the default to be set against
    ):
        own = {"seed": seed, "method": method, "nll": nll, "cpu_seconds": seconds}
        write_run(tmp_path, {**line, **own}, None)
    text, table = section(tmp_path, "directgp")
    assert "one ingredient changed" in text
    row = next(row for row in table.splitlines() if "equal weights" in row)
    assert "| 2 | +0.2000 ± 0.2121 (1) | +0.0000 ± 0.0000 (0) |" in row
    assert "| 90.0 % | 0.50 |" in row
    assert section(tmp_path, "another") == []
