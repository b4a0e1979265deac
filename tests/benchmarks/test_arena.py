"""The arena: distributions of peers are distributions, splits are fair, losses are shown."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from benchmarks.arena.board import PAIRS, read_board
from benchmarks.arena.encoding import native, numbers
from benchmarks.arena.forecasts import LEVELS, Counts, Gaussian, Quantiles, quantile_density
from benchmarks.arena.page import write_page
from benchmarks.arena.scores import calibration_error, row_losses, summary
from benchmarks.arena.store import read_runs, write_run
from benchmarks.arena.tables import KINDS, Problem, Table, all_tables, read, split
from directgp.predictive import GaussianMixture

REPOSITORY = Path(__file__).resolve().parents[2]


def test_gaussian_agrees_with_the_library(rng):
    mean, std, y = rng.normal(size=5), rng.uniform(0.5, 2, 5), rng.normal(size=5)
    theirs, ours = Gaussian(mean, std), GaussianMixture(mean[None], std[None] ** 2, np.zeros(1))
    np.testing.assert_allclose(theirs.crps(y), ours.crps(y), rtol=1e-9)
    np.testing.assert_allclose(theirs.interval(0.9), ours.interval(0.9), rtol=1e-6)


@pytest.mark.parametrize("smooth", [0.0, 0.5, 1.0])
def test_quantiles_are_a_distribution_and_its_crps(rng, smooth):
    crossing = np.sort(rng.gamma(2.0, size=19))
    crossing[[4, 5]] = crossing[[5, 4]]
    forecast = Quantiles(np.zeros(1), crossing[:, None], gap=0.01, tail=2.0, smooth=smooth)
    t = np.linspace(-60, 80, 400_001)
    many = Quantiles(np.zeros(len(t)), np.repeat(crossing[:, None], len(t), 1), 0.01, 2.0, smooth)
    cdf = integrate.cumulative_trapezoid(np.exp(many.log_density(t)), t, initial=0.0)
    assert cdf[-1] == pytest.approx(1.0, abs=2e-3)
    for y in (-3.0, 1.0, 9.0):
        expected = np.trapezoid((cdf - (t >= y)) ** 2, t)
        assert forecast.crps(np.array([y]))[0] == pytest.approx(expected, rel=0.01)
    lower, upper = forecast.interval(0.9)
    inside = np.interp(upper, t, cdf) - np.interp(lower, t, cdf)
    assert inside[0] == pytest.approx(0.9, abs=2e-3)


def test_quantiles_of_a_normal_give_nearly_its_log_score(rng):
    y = rng.normal(size=4000)
    q = np.repeat(stats.norm.ppf(LEVELS)[:, None], len(y), 1)
    forecast = quantile_density(np.zeros(4000), q, q, y, 1.0)
    best = -np.mean(stats.norm.logpdf(y))
    assert best - 0.01 < -np.mean(forecast.log_density(y)) < best + 0.03


@pytest.mark.parametrize("dispersion", [0.0, 0.5])
def test_counts_are_scored_by_their_own_distribution(dispersion):
    forecast = Counts(np.array([3.0, 3.0]), dispersion)
    y, k = np.array([0.0, 7.0]), np.arange(400)
    p = np.exp(Counts(np.full(400, 3.0), dispersion).log_density(k.astype(float)))
    assert p.sum() == pytest.approx(1.0)
    assert (p * k).sum() == pytest.approx(3.0)
    assert (p * k**2).sum() - 9 == pytest.approx(3 + dispersion * 9)
    pair = p @ np.abs(k[:, None] - k) @ p
    expected = [p @ np.abs(k - value) - 0.5 * pair for value in y]
    np.testing.assert_allclose(forecast.crps(y), expected, rtol=1e-5)


def _problem(**changes):
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 3.0, 4.0],
            "word": ["a", "b", None, "a"],
            "day": ["2020-01-01", "2020-01-02", "2020-01-05", "2020-02-01T00:00:00Z"],
        }
    )
    unseen = frame.assign(word=["c", None, "a", "b"])
    given = {"kind": "regression", "X": frame, "y": np.arange(4.0), "X_test": unseen, "seed": 0}
    return Problem(**{**given, **changes})


def test_frames_keep_categories_and_understand_dates():
    train, test, categories = native(_problem())
    assert categories == ["word"]
    assert train["word"].isna().tolist() == [False, False, True, False]
    assert test["word"].isna().tolist() == [True, True, False, False]  # unseen, missing
    assert train["day.day"].diff().tolist()[1:] == [1.0, 3.0, 27.0]
    rare, _, _ = native(_problem(), max_levels=1)
    assert set(rare["word"].dropna()) == {"(rare)"}


def test_numbers_are_standardised_and_complete():
    X, X_test = numbers(_problem())
    assert X.shape == X_test.shape
    assert np.all(np.isfinite(X)) and np.all(np.isfinite(X_test))
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)


def test_the_split_is_that_of_the_seed():
    table = Table("regression", "sklearn", "diabetes", "target", 442)
    X, target = read(table)
    problem, y_test = split(table, seed=3)
    order = np.random.default_rng(3).permutation(442)
    np.testing.assert_array_equal(problem.y, target.to_numpy()[order[:353]])
    np.testing.assert_array_equal(y_test, target.to_numpy()[order[353:]])
    np.testing.assert_array_equal(problem.X_test, X.iloc[order[353:]])
    assert len(split(table, 3, max_rows=100)[0].y) == 100


def test_every_kind_has_tables_and_names_are_unique():
    tables = all_tables()
    assert {table.kind for table in tables} == set(KINDS)
    assert len({table.name for table in tables}) == len(tables)


def test_scores_of_numbers_do_not_depend_on_units(rng):
    y = rng.normal(size=50)
    scores = []
    for unit in (1.0, 1000.0):
        problem = _problem(y=unit * y)
        losses = row_losses(problem, Gaussian(0 * y, unit * np.ones(50)), unit * y)
        scores.append(summary(losses))
    assert scores[0] == pytest.approx(scores[1], rel=1e-5)


def test_a_score_that_is_not_finite_is_refused(rng):
    y = rng.normal(size=5)
    with pytest.raises(ValueError, match="nll, crps, square of some test rows"):
        row_losses(_problem(y=y), Gaussian(np.full(5, np.nan), np.ones(5)), y)


def test_scores_of_classes():
    problem = _problem(kind="classification", y=np.array([0, 1, 1, 0]), classes=("a", "b"))
    p = np.array([[0.8, 0.2], [0.4, 0.6], [0.0, 1.0]])
    found = summary(row_losses(problem, p, np.array([0, 0, 1])))
    assert found["nll"] == pytest.approx(-np.log([0.8, 0.4, 1.0]).mean(), rel=1e-5)
    assert found["error"] == pytest.approx(1 / 3)
    assert calibration_error(np.array([0.75, 0.75]), np.array([0.0, 1.0])) == pytest.approx(0.25)


def _write(folder, table, method, nll, rng, seed=0):
    losses = {name: rng.uniform(0, 0.1, 200) for name in ("crps", "square")}
    losses |= {"nll": nll + rng.normal(scale=0.1, size=200), "inside": np.ones(200)}
    line = {"kind": "regression", "table": table, "seed": seed, "method": method}
    write_run(folder, {**line, **summary(losses), "seconds": 1.0, "cpu_seconds": 1.0}, losses)


def test_losses_are_shown_as_losses(tmp_path, rng):
    for table, nll in (("concrete", 1.0), ("boston", 0.0), ("yacht", 0.5)):
        _write(tmp_path, table, "directgp", nll, rng)
        _write(tmp_path, table, "ridge", 0.5, rng)
    failed = {"kind": "regression", "table": "yacht", "seed": 0, "method": "hgb"}
    write_run(tmp_path, {**failed, "failure": "it broke", "seconds": 1.0}, None)
    sizes = {"concrete": 3, "boston": 2, "yacht": 1}
    board = read_board(tmp_path, "regression", ["directgp", "ridge", "hgb"], sizes)
    assert board is not None and board.complete == ["yacht"]
    assert board.ranks("nll")["hgb"] == 3  # a failure is last
    worse = {t for t, (_, gap, error) in board.against_best("nll").items() if gap > 2 * error}
    assert "concrete" in worse and "boston" not in worse
    write_page(tmp_path, output=tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "| concrete | NLL | 1.0" in text and "Failed: hgb on yacht." in text
    for path in (tmp_path / "arena-rows").iterdir():
        path.unlink()
    kept = read_board(tmp_path, "regression", ["directgp", "ridge", "hgb"], sizes)
    assert kept is not None and kept.against_best("nll").keys() == board.against_best("nll").keys()
    assert set(json.loads((tmp_path / PAIRS).read_text())) == {"regression/directgp"}


def test_a_page_without_our_runs_is_refused_unless_asked_for(tmp_path, rng):
    _write(tmp_path, "yacht", "ridge", 0.5, rng)
    page = tmp_path / "page.md"
    with pytest.raises(SystemExit, match="no run of directgp"):
        write_page(tmp_path, output=page)
    assert not page.exists()
    write_page(tmp_path, output=page, without_ours=True)
    assert "no run of directgp" in page.read_text()


def test_the_page_says_which_tables_which_code_has_judged(tmp_path, rng):
    page = tmp_path / "page.md"
    for table, commit in (("yacht", "aaaaaaa"), ("boston", "bbbbbbb")):
        _write(tmp_path, table, "directgp", 0.0, rng)
        line = read_runs(tmp_path)["regression", table, 0, "directgp"]
        write_run(tmp_path, {**line, "commit": commit}, None)
        write_page(tmp_path, output=page)
        assert ("several commits" in page.read_text()) == (table == "boston")
    assert "(aaaaaaa: yacht; bbbbbbb: boston)" in page.read_text()


def test_everybody_is_averaged_over_the_same_seeds(tmp_path, rng):
    for method, seeds in (("directgp", (0, 1, 2)), ("ridge", (0, 1)), ("hgb", (1, 2))):
        for seed in seeds:
            _write(tmp_path, "yacht", method, seed, rng, seed)
    _write(tmp_path, "yacht", "a label that is not shown", 0.0, rng, 7)
    board = read_board(tmp_path, "regression", ["directgp", "ridge", "hgb"], {"yacht": 1})
    assert board is not None and board.seeds == {"yacht": [1]}
    np.testing.assert_allclose(board.means["nll"].loc["yacht"], 1.0, atol=0.1)


def _arena(folder, *arguments):
    command = [sys.executable, "-m", "benchmarks.arena", "run", "--seeds", "0"]
    return subprocess.run(
        [*command, "--results", str(folder), *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": f"src{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_runs_go_on_where_they_stopped_and_failures_are_kept(tmp_path):
    (tmp_path / "broken.py").write_text("def method(problem):\n    raise RuntimeError('no luck')\n")
    tables = ["--tables", "diabetes", "wine", "--methods", "ridge", "frequencies"]
    assert len(_arena(tmp_path, *tables).splitlines()) == 2
    assert _arena(tmp_path, *tables) == ""
    assert "no luck" in _arena(tmp_path, "--tables", "wine", "--methods", "broken:method")
    runs = read_runs(tmp_path)
    assert runs["regression", "diabetes", 0, "ridge"]["rmse"] < 0.8
    assert "no luck" in runs["classification", "wine", 0, "broken:method"]["failure"]
