"""Kinds, judges and pictures that the figures of gvi, lossem and dspp need."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.divergences import KL, Renyi
from experiments.average_ranks import average_rank, average_ranks, draw_average_ranks
from experiments.datasets import splits
from experiments.figure_rows import Row
from experiments.figures import drawings
from experiments.judges import judges
from experiments.kinds import kinds
from experiments.kinds.contamination import contaminated
from experiments.kinds.robots import _by_trajectory, _fewer
from experiments.kinds.uncertainty import exact, mean_field
from experiments.spec import TIERS, load_specs
from experiments.steady import steady

SPECS = {
    name: spec for name, spec in load_specs().items() if spec.paper in ("gvi", "lossem", "dspp")
}
NOWHERE = Path("nowhere")


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_speaks_of_what_there_is(name):
    spec = SPECS[name]
    assert spec.claim and spec.claims and spec.plots
    for tier in TIERS:
        cells = spec.cells(tier)
        assert all(cell.job.record["kind"] in kinds for cell in cells)
        assert all(cell.job.record.get("split", "90-10") in splits for cell in cells)
        methods = {cell.labels.get("method") for cell in cells} - {None}
        for claim in spec.claims:
            named = [m for key in ("methods", "than", "order") for m in claim.get(key, ())]
            named += [claim[key] for key in ("first", "to", "of") if key in claim]
            assert not methods or set(named) <= methods
    for claim in spec.claims:
        assert claim["judge"] in judges
        assert claim["says"]
    for plot in spec.plots:
        assert plot["draw"] in drawings


def _rows(table, score="nll"):
    return [
        Row({"data": data, "method": method, "seed": seed}, {score: value})
        for (data, seed), values in table.items()
        for method, value in values.items()
    ]


def test_average_ranks_count_pairs_that_have_all_methods():
    table = {
        ("a", 0): {"u": 1.0, "v": 2.0, "w": 3.0},
        ("a", 1): {"u": 2.0, "v": 1.0, "w": 3.0},
        ("b", 0): {"u": -5.0, "v": 7.0, "w": 7.0},
        ("b", 1): {"u": 9.0, "v": 1.0},
    }
    ranks, count = average_ranks(_rows(table), "nll")
    assert count == 3
    assert ranks == pytest.approx({"u": 4 / 3, "v": 5.5 / 3, "w": 8.5 / 3})
    first = average_rank(_rows(table), score="nll", first="u")
    assert first.outcome == "reproduced"
    assert "u 1.33, v 1.83, w 2.83" in first.reason
    assert average_rank(_rows(table), score="nll", first="v").outcome == "partly"
    assert average_rank(_rows(table), score="nll", first="w").outcome == "not"
    assert average_rank(_rows(table), score="nll", first="v", than=["w"]).outcome == "reproduced"
    assert average_rank(_rows(table), score="crps", first="u").outcome == "not run"
    picture = draw_average_ranks(_rows(table), y=["nll"])
    assert [text.get_text() for text in picture.axes[0].texts] == ["1.33", "1.83", "2.83"]
    assert draw_average_ranks(_rows(table), y=["crps"]) is None


def test_what_is_steady():
    rows = [
        Row({"data": "a", "method": method, "share": share, "seed": 0}, {"nll": value})
        for method, values in {"u": (1.0, 1.1), "v": (1.0, 2.0)}.items()
        for share, value in zip((0.0, 0.05), values, strict=True)
    ]
    options = {"score": "nll", "along": "share", "within": 0.2}
    assert steady(rows, methods=["u"], **options).outcome == "reproduced"
    assert steady(rows, methods=["v"], **options).outcome == "not"
    assert steady(rows, **options).outcome == "partly"
    assert steady(rows[:1], **options).outcome == "not run"


@pytest.mark.parametrize(
    ("loss", "far"),
    [("elbo", "largest"), ({"average": "gibbs", "score": "robust-beta", "power": 1.5}, "small")],
    ids=["log", "beta"],
)
def test_influence_of_an_outlier(loss, far):
    record = {"loss": loss, "observations": 40, "distances": [0.5, 2.0, 8.0], "seed": 0}
    rows = kinds.lookup("influence")(record, NOWHERE).rows
    near, middle, away = (row["scores"]["influence"] for row in rows)
    assert near < middle
    assert (away > middle) if far == "largest" else (away < near / 10)


def test_the_influence_under_log_loss_is_that_of_two_normals():
    """Posteriors N(m, s²): ∫ √(p q) has a closed form."""
    record = {"loss": "elbo", "observations": 30, "distances": [3.0], "seed": 1}
    [row] = kinds.lookup("influence")(record, NOWHERE).rows
    y = np.random.default_rng(1).standard_normal(29)
    precision = 29 + 0.01
    mean = y.sum() / precision
    last = mean + 3.0 * np.sqrt(1 + 1 / precision)
    after = (y.sum() + last) / (precision + 1)
    s, t = 1 / precision, 1 / (precision + 1)
    overlap = np.sqrt(2 * np.sqrt(s * t) / (s + t)) * np.exp(-0.25 * (after - mean) ** 2 / (s + t))
    assert row["scores"]["influence"] == pytest.approx(np.arccos(overlap), rel=1e-4)


def test_mean_field_under_kl_has_the_known_solution(rng):
    """Means are exact, variances are the inverse diagonal of the precision."""
    A = rng.normal(size=(20, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
    y = rng.normal(size=20)
    prior = np.array([0.5, -1.0]), np.array([2.0, 3.0])
    mean, std = mean_field(A, y, 0.7, *prior, KL())
    exact_mean, cov = exact(A, y, 0.7, *prior)
    np.testing.assert_allclose(mean, exact_mean, atol=1e-4)
    np.testing.assert_allclose(std, np.diag(np.linalg.inv(cov)) ** -0.5, rtol=1e-4)
    wider = mean_field(A, y, 0.7, *prior, Renyi(0.5))[1]
    assert (wider > std).all()


def test_only_the_calibrated_gaussian_shuts_the_plant_down():
    rows = kinds.lookup("power-plant")({"meltdown": 10, "shutdown": 1}, NOWHERE).rows
    runs = {row["labels"]["method"][:2]: row["scores"]["runs"] for row in rows}
    assert runs == {"po": 0.0, "q₁": 1.0, "q₂": 1.0, "q₃": 0.0}
    excess = {row["labels"]["method"][:2]: row["scores"]["excess_risk"] for row in rows}
    assert excess["q₃"] == 0.0 < excess["q₁"] == excess["q₂"]


def test_outliers_are_few_and_gross(rng):
    y = rng.normal(size=400) * 3.0
    record = {"contamination": 0.05, "outlier": 8.0, "outlier_spread": 1.0, "seed": 0}
    moved = contaminated(y, record)
    changed = np.flatnonzero(moved != y)
    assert len(changed) == 20
    assert np.abs(moved - y)[changed].min() > 4 * y.std()
    np.testing.assert_array_equal(contaminated(y, record), moved)
    np.testing.assert_array_equal(contaminated(y, record | {"contamination": 0.0}), y)


def test_trajectories_are_held_out_whole_and_changes_predicted(tmp_path):
    rng = np.random.default_rng(0)
    trajectory = np.repeat(np.arange(1, 8), 30)
    state = rng.normal(size=(210, 2))
    columns = {"traj": trajectory, "pos1": state[:, 0], "vel1": state[:, 1], "tau1": trajectory}
    table = pa.table(columns | {"y0": state[:, 0] + 1.0, "y1": state[:, 1] + trajectory})
    parquet.write_table(table, tmp_path / "arm.parquet")
    rows = _by_trajectory({"data": "arm", "seed": 3, "size": 100}, tmp_path)
    assert [len(part) for part in rows] == [100, 100, 30, 30, 60, 60]
    kept = [set(np.round(part[:, 2], 6)) for part in (rows.X, rows.X_valid, rows.X_test)]
    assert [len(values) for values in kept] == [4, 1, 2]
    assert not kept[0] & (kept[1] | kept[2])
    few = _fewer(rows, 20, 0)
    assert [len(part) for part in few] == [100, 100, 20, 20, 20, 20]
    assert _fewer(rows, None, 0) is rows
    # The change of the velocity is the trajectory's number: a line in the torque.
    np.testing.assert_allclose(rows.y_test[:, 1], rows.X_test[:, 2], atol=1e-9)
