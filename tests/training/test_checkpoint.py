"""Checkpoints: exact, atomic, readable only by the run they are from, and never pickle."""

import ast
import json
import os
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import directgp
from directgp.kernels import RBF
from directgp.training import checkpoint
from directgp.training.loop import GP, Settings, run, start

SETTINGS = Settings(steps=30, batch_size=8, chunk=10, tolerance=0.0)


@pytest.fixture
def states(ridge):
    seen = []
    run(
        ridge.gp, ridge.objective, ridge.data, SETTINGS, beta=1.0,
        validation=ridge.validation, after_chunk=seen.append,
    )  # fmt: skip
    return seen


def assert_same(first, second):
    for name in ("learned", "moments", "proven", "best_learned"):
        left, right = getattr(first, name), getattr(second, name)
        assert jax.tree.structure(left) == jax.tree.structure(right)
        for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_array_equal(a, b)
    trees = dict(learned=0, moments=0, proven=0, best_learned=0)
    assert replace(first, **trees) == replace(second, **trees)


def test_a_state_comes_back_bit_for_bit(states, ridge, tmp_path):
    for state in [start(ridge.gp), *states]:
        checkpoint.write(tmp_path / "c", state, "run")
        assert_same(checkpoint.read(tmp_path / "c", start(ridge.gp), "run"), state)


def test_scalars_keep_their_shape(tmp_path):
    state = start(GP(jnp.asarray(0.1), None))
    checkpoint.write(tmp_path / "c", state, "run")
    assert checkpoint.read(tmp_path / "c", state, "run").learned.model.shape == ()


def test_the_path_may_be_text(states, ridge, tmp_path):
    checkpoint.write(str(tmp_path / "c"), states[0], "run")
    assert checkpoint.read(str(tmp_path / "c"), start(ridge.gp), "run").step == 10


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_failure_while_writing_leaves_the_old_file(states, ridge, tmp_path, monkeypatch, step):
    path = tmp_path / "c"
    checkpoint.write(path, states[0], "run")
    before = path.read_bytes()

    def broken(*args, **kwargs):
        raise OSError("disk full")

    if step == "open":
        monkeypatch.setattr("builtins.open", broken)
    else:
        monkeypatch.setattr(os, step, broken)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.write(path, states[1], "run")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert_same(checkpoint.read(path, start(ridge.gp), "run"), states[0])
    checkpoint.write(path, states[1], "run")
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


def refused(path, template, run_id="run"):
    with pytest.raises(ValueError) as caught:
        checkpoint.read(path, template, run_id)
    message = str(caught.value)
    assert "\n" not in message and str(path) in message
    return message


@pytest.mark.parametrize("kept", [0, 1, 8, 100, 0.5, -1])
def test_a_truncated_file_is_refused(states, ridge, tmp_path, kept):
    path = tmp_path / "c"
    checkpoint.write(path, states[0], "run")
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    assert "not a readable checkpoint" in refused(path, start(ridge.gp))


def test_foreign_files_are_refused(ridge, tmp_path):
    path, template = tmp_path / "c", start(ridge.gp)
    path.write_text("step,objective\n1,2\n" * 50)
    assert "not a readable checkpoint" in refused(path, template)
    save_file({"weights": np.ones(3)}, path)
    assert "not a directgp checkpoint" in refused(path, template)
    odd = '{"version": "3\\n", "run_id": "run"}'
    for metadata in ("{", "[]", "3", "{}", "null", odd, "[" * 99999):
        save_file({"weights": np.ones(3)}, path, {"directgp-checkpoint": metadata})
        assert "not a directgp checkpoint" in refused(path, template)
    path.unlink()
    path.mkdir()
    assert "not a readable checkpoint" in refused(path, template)


def test_another_run_model_or_version_is_refused(states, ridge, tmp_path):
    path = tmp_path / "c"
    checkpoint.write(path, states[0], "run")
    assert "other data or settings" in refused(path, start(ridge.gp), "another run")
    assert "another model" in refused(path, start(GP(jnp.zeros(6), None)))
    assert "another model" in refused(path, start(GP({"w": jnp.zeros(5)}, None)))
    facts = {"directgp-checkpoint": json.dumps({"version": 99, "run_id": "run"})}
    save_file(load_file(path), path, facts)
    assert "another version" in refused(path, start(ridge.gp))


@pytest.mark.parametrize(
    "said",
    [
        {"best_validation": "low"},
        {"step": -1},
        {"step": True},
        {"failures": 10**30},
        {"rate_factor": 0.0},
        {"rate_factor": float("nan")},
        {"recent": ["1"]},
        {"recent": [[1.0]]},
        {"recent": [10**400]},
        {"history": {}},
        {"history": {"step": [1]}},
        {"history": dict.fromkeys(("step", "objective", "risk", "penalty", "validation"), "x")},
    ],
)
def test_a_file_that_says_what_no_run_says_is_refused(states, ridge, tmp_path, said):
    path = tmp_path / "c"
    checkpoint.write(path, states[0], "run")
    with safe_open(path, framework="numpy") as file:
        facts = json.loads(file.metadata()["directgp-checkpoint"]) | said
    save_file(load_file(path), path, {"directgp-checkpoint": json.dumps(facts)})
    assert "not a directgp checkpoint" in refused(path, start(ridge.gp))


def test_nothing_is_ever_unpickled():
    banned = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    for source in Path(directgp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            imported: list[str] = []
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported = [node.module or ""]
            assert not banned & {name.split(".")[0] for name in imported}, source
            keyword = isinstance(node, ast.keyword) and node.arg == "allow_pickle"
            assert not keyword or getattr(node.value, "value", True) is False, source


# ---------------------------------------------------------------- fingerprints


def test_a_fingerprint_sees_numbers_inside_modules():
    same = checkpoint.fingerprint(RBF(lengthscale=[1.0, 2.0]), "direct")
    assert same == checkpoint.fingerprint(RBF(lengthscale=[1.0, 2.0]), "direct")
    assert same != checkpoint.fingerprint(RBF(lengthscale=[1.0, 2.5]), "direct")
    assert same != checkpoint.fingerprint(RBF(lengthscale=[1.0, 2.0]), "elbo")


def test_a_fingerprint_sees_every_number_of_a_long_array():
    rows = np.zeros(10_000)
    changed = rows.copy()
    changed[5_000] = 1e-300
    assert checkpoint.fingerprint(rows) != checkpoint.fingerprint(changed)
    assert checkpoint.fingerprint(rows) != checkpoint.fingerprint(rows.reshape(100, 100))
    assert checkpoint.fingerprint(rows) != checkpoint.fingerprint(rows.astype(np.float32))
