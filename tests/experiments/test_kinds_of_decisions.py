"""The kinds of jobs about decisions, on a few rows: their numbers are those done by hand."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.decisions import NewsvendorCost
from experiments.kinds import kinds
from experiments.kinds.realised_cost import cut

RECORD = {
    "seed": 1,
    "data": "toy",
    "train_rows": 60,
    "loss": "direct-log",
    "mean": "constant",
    "beta": 1.0,
    "num_inducing": 5,
    "batch": "full",
    "steps": 60,
}


@pytest.fixture
def folder(tmp_path, rng):
    x = rng.uniform(-2, 2, 120)
    y = (rng.random(120) < 1 / (1 + np.exp(-3 * x))) * 1.0
    parquet.write_table(pa.table({"x": x, "y": y}), tmp_path / "toy.parquet")
    counts = rng.poisson(np.exp(1 + 0.5 * x)) * 1.0
    parquet.write_table(pa.table({"x": x, "y": counts}), tmp_path / "stock.parquet")
    return tmp_path


def test_the_realised_cost_of_classes(folder):
    record = RECORD | {"cost": "binary", "ratio": 5, "likelihood": "bernoulli"}
    rows = cut(record, folder)
    assert len(rows.y_test) == 24 and len(rows.y) == 60 and len(rows.y_valid) == 19
    share = rows.y_test.mean()
    for for_cost in (False, True):
        scores = kinds.lookup("realised-cost")(record | {"for_cost": for_cost}, folder).scores
        assert scores["never"] == pytest.approx(5 * share)
        assert scores["always"] == pytest.approx(1 - share)
        assert 0 < scores["acted"] <= 1 and 0 < scores["expected"] < 1
        assert 0 <= scores["cost"] < scores["never"]
        assert scores["cost"] * 24 == pytest.approx(round(scores["cost"] * 24))


def test_the_realised_cost_of_orders(folder):
    record = RECORD | {"data": "stock", "cost": "newsvendor", "ratio": 4, "likelihood": "poisson"}
    scores = kinds.lookup("realised-cost")(record, folder).scores
    rows = cut(record, folder)
    same = np.full(len(rows.y_test), np.quantile(rows.y, 0.8))
    by_hand = NewsvendorCost(under=4, over=1).realised(rows.y_test, same).mean()
    assert scores["always"] == pytest.approx(by_hand)
    assert 0 < scores["cost"] < scores["always"] and 0 <= scores["short"] < 0.5


@pytest.mark.slow
def test_the_risk_of_loss_em_on_two_datasets(tmp_path):
    record = {"seed": 0, "datasets": 2, "variance": 10.0, "lengthscale": 0.2}
    outcome = kinds.lookup("loss-em-risk")(record, tmp_path)
    assert outcome.scores["effective"] > 100
    places = [tuple(row["labels"].values()) for row in outcome.rows]
    assert len(set(places)) == len(places)
    risks = {}
    for row in outcome.rows:
        assert 0 <= row["scores"]["risk"] <= 1 and 0 <= row["scores"]["easy"] <= 2
        risks.setdefault(row["labels"]["method"], []).append(row["scores"]["risk"])
    assert {"Laplace", "loss-EM", "EP", "loss-calibrated EP"} <= set(risks)
    assert np.mean(risks["EP"]) <= np.mean(risks["Laplace"])
