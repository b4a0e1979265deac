"""Stores and exports that were damaged or forged: the runs, or one line."""

import json
import sqlite3

import numpy as np
import pytest

from directgp.tables import write_table
from experiments.commands.app import run
from experiments.store import Run, Store, StoreError
from experiments.transfer import export, load

RUNS = [
    Run({"kind": "draw", "seed": k}, {"nll": 0.1 * k}, {"step": [1, 2]}, figure="f", method="m")
    for k in range(5)
]
DEEP = "[" * 100_000 + "]" * 100_000
FORGED = {
    "record": ("[]", "3", '{"seed": "x"}', '{"seed": 1e99}', '{"a": NaN}', DEEP, "", "\ud800", "{"),
    "scores": ("[]", "null", "1", '{"a": 1', DEEP),
    "curve": ('{"step": 1}', "[]", '"x"'),
    "rows": ("{}", "[1]", '[{"labels": 1}]', '[{"scores": []}]'),
    "versions": ("[]", '{"a": 1}'),
    "seconds": (-1.0, 1e999),
}


@pytest.fixture
def path(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        store.add_all(RUNS)
    return tmp_path / "runs.sqlite"


def read(path) -> list[Run]:
    """All that the commands ask a store for."""
    with Store(path) as store:
        len(store), store.keys(), store.failures(), "x" in store
        store.get([each.key for each in RUNS])
        return list(store.runs())


def test_a_sound_store_is_read(path):
    assert sorted(each.scores["nll"] for each in read(path)) == [0.1 * k for k in range(5)]


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_run_is_one_line(name, path):
    for value in FORGED[name]:
        if isinstance(value, str) and "\ud800" in value:
            value = value.encode("utf-8", "surrogatepass")
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE IF EXISTS kept")
            db.execute("CREATE TABLE kept AS SELECT * FROM runs")
            db.execute("DROP TABLE runs")  # its columns are strict, those of a forger are not
            db.execute("CREATE TABLE runs AS SELECT * FROM kept")
            db.execute(f"UPDATE runs SET {name} = ?", (value,))
        db.close()
        with pytest.raises(StoreError, match=r"is not a run|damaged") as caught:
            read(path)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE runs")
            db.execute("ALTER TABLE kept RENAME TO runs")
        db.close()


def test_a_view_that_never_ends_is_not_read(path):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    for statement in (
        f"CREATE VIEW more AS {endless}",
        f"CREATE TRIGGER t AFTER INSERT ON runs BEGIN INSERT INTO failures {endless}; END",
        "CREATE VIRTUAL TABLE words USING fts5(x)",
    ):
        with sqlite3.connect(path) as db:
            try:
                db.execute(statement)
            except sqlite3.OperationalError as error:  # sqlite without fts5
                assert "no such module" in str(error)
                continue
        db.close()
        with pytest.raises(StoreError, match="more than tables"):
            Store(path)
        with sqlite3.connect(path) as db:
            for kind, name in (("VIEW", "more"), ("TRIGGER", "t"), ("TABLE", "words")):
                db.execute(f"DROP {kind} IF EXISTS {name}")
        db.close()
    assert len(read(path)) == 5


def test_a_damaged_store_gives_its_runs_or_one_line(path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(path.parent))  # of logs of internal errors
    rng, sound, refused = np.random.default_rng(0), path.read_bytes(), 0
    for _ in range(150):
        changed = bytearray(sound)
        for _ in range(int(rng.integers(1, 60))):
            changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
        data = bytes(changed) if rng.random() < 0.8 else sound[: int(rng.integers(len(sound)))]
        for left in path.parent.glob("runs.sqlite-*"):
            left.unlink()
        path.write_bytes(data)
        code = run(["results", "--store", str(path), "--json"])
        said = capsys.readouterr().err.splitlines()
        assert code in (0, 2), said
        refused += code == 2
        assert code == 0 or (len(said) == 1 and said[0].startswith("error: ")), said
    assert refused > 20


def test_forged_exports_are_one_line(path, tmp_path):
    lines, rows = tmp_path / "runs.jsonl", tmp_path / "runs.parquet"
    export(lines, RUNS)
    export(rows, RUNS)
    assert list(load(lines)) == list(load(rows)) == RUNS
    sound = json.loads(lines.read_text().splitlines()[0])
    for name, values in FORGED.items():
        for value in values:
            if isinstance(value, str):
                text = json.dumps(sound | {name: "here"}).replace('"here"', value or "x")
                lines.write_text(text, errors="surrogatepass")
            else:
                lines.write_text(json.dumps(sound | {name: value}))
            with pytest.raises(StoreError, match=r"is not a run|cannot be read") as caught:
                list(load(lines))
            assert "\n" not in str(caught.value)
    for columns in (
        {"record": [1], "scores": [2]},
        {"record": ["{"], "scores": ["{}"]},
        {"record": [None], "scores": [None]},
        {"record": [DEEP], "scores": ["{}"]},
        {"x": [1]},
    ):
        write_table(rows, columns)
        with pytest.raises(StoreError, match="is not a run") as caught:
            list(load(rows))
        assert "\n" not in str(caught.value)
    for data in (b"", b"PAR1", b"\xff\xfe" * 50, b"PAR1" + bytes(100) + b"PAR1"):
        for each in (lines, rows):
            each.write_bytes(data)
            if data or each is rows:
                with pytest.raises(ValueError) as caught:
                    list(load(each))
                assert "\n" not in str(caught.value)
