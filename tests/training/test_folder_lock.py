"""Folders of checkpoints: one process at a time, and a killed one keeps nobody out."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import directgp as dg
from directgp.training.folder_lock import FolderInUse, holding

HOLDER = """
import sys, time
from directgp.training.folder_lock import holding
with holding(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds a folder."""
    folder = tmp_path / "checkpoints"
    path = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process, folder
    process.kill()
    process.communicate()


def test_a_second_process_is_told_who_has_the_folder_and_a_killed_one_has_it_no_more(other):
    process, folder = other
    X = np.linspace(0, 1, 20)[:, None]
    with pytest.raises(FolderInUse) as caught:
        dg.fit(
            X,
            X[:, 0],
            beta=1.0,
            model=dg.Sparse(num_inducing=3),
            training=dg.Training(max_steps=5, checkpoint=folder),
        )
    said = str(caught.value)
    assert "\n" not in said and str(folder) in said and "wait until it ends" in said
    assert f"process {process.pid} on " in said
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (folder / ".lock").exists()  # which is no lock without a process
    dg.fit(
        X,
        X[:, 0],
        beta=1.0,
        model=dg.Sparse(num_inducing=3),
        training=dg.Training(max_steps=5, checkpoint=folder),
    )
    assert not folder.exists()


def test_the_command_line_leaves_a_running_fit_alone(other, tmp_path, capfd):
    from directgp.cli.app import run
    from directgp.tables import write_table

    process, folder = other
    kept = folder / "model-000-training.safetensors"
    kept.write_bytes(b"of the other process")
    table, model = tmp_path / "t.csv", tmp_path / "checkpoints.dgp"
    folder.rename(tmp_path / "checkpoints.dgp.checkpoint")
    write_table(table, {"x": np.arange(30.0), "y": np.arange(30.0) % 7})
    for more in ([], ["--fresh"], ["--resume"]):
        assert run(["fit", str(table), "-o", str(model), "--quiet", *more]) == 2
        said = capfd.readouterr().err
        assert said.count("\n") == 1 and f"in use by process {process.pid}" in said
    assert (tmp_path / "checkpoints.dgp.checkpoint" / kept.name).exists()
    assert not model.exists()


def test_a_thread_enters_again_and_another_does_not(tmp_path):
    found: list[BaseException] = []

    def enter():
        try:
            with holding(tmp_path / "a"):
                pass
        except FolderInUse as error:
            found.append(error)

    with holding(tmp_path / "a"):
        with holding(tmp_path / "a"):
            thread = threading.Thread(target=enter)
            thread.start()
            thread.join()
        assert (tmp_path / "a").is_dir()
    assert not (tmp_path / "a").exists() and "another thread" in str(found[0])
    with holding(tmp_path / "a"):
        (tmp_path / "a" / "file").touch()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["file"]
    enter()
    assert len(found) == 1


def test_a_failure_lets_the_folder_go(tmp_path):
    with pytest.raises(KeyError), holding(tmp_path / "a"):
        raise KeyError
    with holding(tmp_path / "a"), holding(None):
        pass
