"""The store keeps each run once, whole, and gives back what it was given."""

import sqlite3

import pytest

from experiments.job import Job
from experiments.store import Run, Store, StoreError
from experiments.transfer import export, load


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


@pytest.fixture
def whole():
    return Run(
        record={"kind": "fit", "beta": 1.0, "kernel": {"name": "rbf"}, "seed": 3},
        scores={"nll": 0.1 + 0.2, "ended": "converged"},
        curve={"step": [1, 2], "nll": [1.0, 1e-300]},
        rows=[{"labels": {"method": "β"}, "scores": {"risk": 0.5}}],
        seconds=2.25,
        paper="dlm",
        figure="dlm/fig1a",
        method="β-ELBO",
        data="pol",
        versions={"jax": "1"},
        git="abc+",
        finished="2026-01-01T00:00:00+00:00",
    )


def test_a_run_comes_back_as_it_was(store, whole):
    assert store.add(whole)
    assert store.get([whole.key, "unknown"]) == {whole.key: whole}
    assert list(store.runs(paper="dlm", data="pol", method="β-ELBO", seed=3)) == [whole]
    assert list(store.runs(data="other")) == []


def test_the_first_result_of_a_key_stays(store, run_of):
    assert store.add(run_of(seed=1, nll=1.0))
    assert not store.add(run_of(seed=1, nll=2.0))
    assert [run.scores["nll"] for run in store.runs()] == [1.0] and len(store) == 1


def test_two_writers_share_a_store(store, run_of):
    with Store(store.path) as other:
        assert store.add(run_of(seed=1)) and other.add(run_of(seed=2))
        assert not other.add(run_of(seed=1))
        assert store.keys() == other.keys() and len(other) == 2


def test_a_success_forgets_the_failure(store, run_of):
    run = run_of(seed=1)
    store.fail(Job(run.record), "toy/dice", "no luck")
    assert store.failures() == {run.key: "no luck"}
    store.add(run)
    assert store.failures() == {}


def test_more_keys_than_sqlite_takes_at_once(store, run_of):
    runs = [run_of(seed=seed) for seed in range(1203)]
    assert store.add_all(runs) == 1203
    assert store.get([run.key for run in runs]).keys() == {run.key for run in runs}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_store_can_be_rebuilt_from_its_export(ending, store, whole, run_of, tmp_path):
    store.add_all([whole, run_of(seed=1)])
    path = tmp_path / f"export.{ending}"
    assert export(path, store.runs()) == 2
    with Store(tmp_path / "again.sqlite") as again:
        assert again.add_all(load(path)) == 2 and again.add_all(load(path)) == 0
        assert list(again.runs()) == list(store.runs())


def test_csv_has_a_column_for_each_score(store, whole, tmp_path):
    import pyarrow.csv as arrow_csv

    store.add(whole)
    export(tmp_path / "runs.csv", store.runs())
    row = arrow_csv.read_csv(tmp_path / "runs.csv").to_pylist()[0]
    assert row["nll"] == whole.scores["nll"] and row["method"] == "β-ELBO" and row["seed"] == 3


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", "{}\n", "line 1 of"),
        ("a.jsonl", '{"record": {}, "sco', "line 1 of"),
        ("a.txt", "", "choose one of: .jsonl, .parquet"),
    ],
)
def test_what_is_no_export_is_refused_in_one_line(name, content, says, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=says):
        list(load(tmp_path / name))


def test_what_is_no_store_is_refused_in_one_line(tmp_path):
    (tmp_path / "text.sqlite").write_text("this is not a database, nor ever was one" * 50)
    with pytest.raises(StoreError, match="not a results store"):
        Store(tmp_path / "text.sqlite")
    with pytest.raises(StoreError, match="folder that exists"):
        Store(tmp_path / "nowhere" / "runs.sqlite")
    old = sqlite3.connect(tmp_path / "old.sqlite")
    old.execute("CREATE TABLE runs (key TEXT PRIMARY KEY)")
    old.close()
    with pytest.raises(StoreError, match="another version"):
        Store(tmp_path / "old.sqlite")


def test_a_full_disk_is_one_line_and_what_was_stored_stays(store, run_of):
    assert store.add(run_of(seed=0))
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")  # as SQLite sees a disk without room
    with pytest.raises(StoreError, match=r"cannot be written .*full.*stored runs are kept"):
        store.add_all([run_of(seed=k) for k in range(1, 200)])
    assert len(store) == 1
    store._db.execute("PRAGMA max_page_count = 100000")
    assert store.add(run_of(seed=1)) and len(store) == 2


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(sqlite3, "connect", refused)
    with pytest.raises(StoreError, match=r"cannot be opened .*readonly.*check the disk"):
        Store(tmp_path / "runs.sqlite")
