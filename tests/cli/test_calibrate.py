"""``directgp calibrate``, and what the other commands make of it."""

import json

import numpy as np
import pytest

import directgp as dg
from directgp.tables import read_table, write_table


@pytest.fixture(scope="module")
def fresh(tmp_path_factory, make_houses):
    path = tmp_path_factory.mktemp("fresh") / "fresh.csv"
    write_table(path, make_houses(99, seed=7))
    return path


@pytest.fixture
def calibrated(shop, fresh, tmp_path, command):
    """A calibrated model of a task."""

    def make(task, *options):
        path = tmp_path / f"{task}.dgp"
        ended = command("calibrate", shop.models[task], fresh, "-o", path, *options)
        assert ended.code == 0, ended.err
        return path

    return make


def test_predict_gives_the_interval_that_was_calibrated(calibrated, fresh, tmp_path, command):
    path = calibrated("regression")
    ended = command(
        "predict", path, fresh, "--coverage", "0.8", "--keep", "price", "-o", tmp_path / "p.csv"
    )
    assert ended.code == 0, ended.err
    found = read_table(tmp_path / "p.csv")
    low, high, price = (found[name].to_numpy() for name in ("lower", "upper", "price"))
    assert np.sum((low <= price) & (price <= high)) == 80  # n + 1 − 100 · 0.2
    model = dg.load_table_model(path)
    bounds = model.calibration.bounds(model.predict_table(read_table(fresh)), 0.8)
    assert np.allclose(bounds, (low, high))
    assert "on 99 rows" in command("inspect", path).out


def test_groups_come_from_a_column_and_few_rows_are_told(calibrated, shop, fresh, command):
    path = calibrated("regression", "--group", "rooms")
    ended = command("predict", path, fresh, "--json")
    assert "needs at least 9 rows in each group" in ended.err
    values = json.loads(ended.out)["predictions"]["upper"]
    assert None in values and any(value is not None for value in values)  # JSON has no infinity
    absent = command("predict", path, shop.folder / "houses.csv", "--coverage", "2")
    assert absent.code == 2 and "strictly between 0 and 1" in absent.err


def test_classes_get_sets_and_decisions_the_recalibrated_distribution(
    calibrated, shop, fresh, tmp_path, command
):
    ended = command("predict", calibrated("classes"), fresh, "--json")
    assert set(json.loads(ended.out)["predictions"]["set"]) <= {"no", "yes", "no|yes"}
    cost = tmp_path / "cost.toml"
    cost.write_text('kind = "newsvendor"\nunder = 4\nover = 1\n')
    actions = [
        json.loads(command("decide", path, fresh, "--cost", cost, "--json").out)["decisions"]
        for path in (shop.models["regression"], calibrated("regression"))
    ]
    assert not np.allclose(actions[0]["action"], actions[1]["action"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--group", "kid"], "there is no column 'kid' to take the groups from; did you mean"),
        (["-o", "/nowhere/m.dgp"], "there is no folder"),
    ],
)
def test_mistakes_are_one_line(shop, fresh, tmp_path, command, options, said):
    usual = ["calibrate", shop.models["regression"], fresh, "-o", tmp_path / "m.dgp"]
    ended = command(*usual, *options)
    assert ended.code == 2 and said in ended.err and ended.err.count("\n") == 1
    assert not (tmp_path / "m.dgp").exists()


def test_a_model_without_a_calibration_promises_nothing(shop, fresh, command):
    ended = command("predict", shop.models["regression"], fresh, "--coverage", "0.9")
    assert ended.code == 2 and "run directgp calibrate first" in ended.err


@pytest.mark.parametrize(
    ("task", "options"), [("regression", ["--group", "rooms"]), ("classes", [])]
)
def test_rows_are_predicted_alike_in_pieces(
    calibrated, fresh, tmp_path, command, monkeypatch, task, options
):
    path, whole, parts = calibrated(task, *options), tmp_path / "a.csv", tmp_path / "b.csv"
    at_once = command("predict", path, fresh, "-o", whole)
    monkeypatch.setattr("directgp.tables.prediction_columns.PIECE", 7)
    ended = command("predict", path, fresh, "-o", parts)
    assert ended.code == 0 and ended.err == at_once.err
    assert parts.read_text() == whole.read_text()
    assert len(whole.read_text().splitlines()) == 100
