"""Results of the arena on disk that were damaged or forged: passed over, or one line."""

import json

import numpy as np
import pytest

from benchmarks.arena.store import read_rows, read_runs, rows_path, write_run

KEY = ("classification", "iris", 0, "ours")
LINE = dict(zip(("kind", "table", "seed", "method"), KEY, strict=True)) | {"log": 0.1}


def test_lines_that_are_no_runs_are_passed_over(tmp_path):
    write_run(tmp_path, LINE, None)
    with (tmp_path / "arena.jsonl").open("ab") as file:
        for text in (
            "3",
            "[]",
            "{}",
            json.dumps(LINE | {"seed": [1]}),
            "[" * 99999,
            "{",
            "9" * 9999,
        ):
            file.write(text.encode() + b"\n")
        file.write(b"\xff\xfe\n" + json.dumps(LINE).encode()[:-5])
    assert read_runs(tmp_path) == {KEY: LINE}


def test_row_losses_that_are_none_are_one_line(tmp_path):
    write_run(tmp_path, LINE, {"log": np.arange(200.0)})
    path = rows_path(tmp_path, KEY)
    sound, rng = path.read_bytes(), np.random.default_rng(0)
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, log=np.array([{}], dtype=object))
    np.save(tmp_path / "alone.npy", np.arange(3.0))
    files = [b"", b"PK", sound[:50], pickled.read_bytes(), (tmp_path / "alone.npy").read_bytes()]
    for _ in range(60):
        changed = bytearray(sound)
        for _ in range(20):
            changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
        files.append(bytes(changed))
    refused = 0
    for data in files:
        path.write_bytes(data)
        try:
            assert read_rows(tmp_path, KEY) is not None
        except SystemExit as error:
            refused += 1
            assert "\n" not in str(error) and "has no row losses" in str(error)
    assert refused >= 40
    path.write_bytes(sound)
    losses = read_rows(tmp_path, KEY)
    assert losses is not None and losses["log"].tolist() == list(range(200))
    with pytest.raises(SystemExit):
        path.write_bytes(b"x")
        read_rows(tmp_path, KEY)
