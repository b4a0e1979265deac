"""Stages: each has its own checkpoint; the user's other files are safe."""

from dataclasses import replace

import numpy as np
import pytest

from directgp.training.loop import Settings
from directgp.training.progress import Silent
from directgp.training.resumable import Stages, remove_checkpoints

SETTINGS = Settings(steps=40, batch_size=8, chunk=10, tolerance=0.0)


class Interrupting(Silent):
    """Interrupts after so many chunks."""

    def __init__(self, chunks: int):
        self.left = chunks

    def update(self, state) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def two_stages(ridge, folder, report=None, run_id="run"):
    stages = Stages(
        ridge.objective, ridge.data, report or Silent(), folder=folder, run_id=run_id
    )  # fmt: skip
    first = stages.run("first", ridge.gp, SETTINGS, 1.0)
    second = stages.run("second", first.gp, SETTINGS, 5.0, ridge.validation)
    return second


@pytest.mark.parametrize("chunks", [1, 3, 4, 5, 8])
def test_an_interrupted_sequence_resumes_with_the_same_bits(ridge, tmp_path, chunks):
    whole = two_stages(ridge, None)
    folder = tmp_path / "a" / "b"
    with pytest.raises(KeyboardInterrupt):
        two_stages(ridge, folder, Interrupting(chunks))
    count = Interrupting(1000)
    resumed = two_stages(ridge, folder, count)
    assert 1000 - count.left == 8 - chunks, "only the missing chunks are trained"
    np.testing.assert_array_equal(resumed.gp.model, whole.gp.model)
    assert resumed.history == whole.history
    remove_checkpoints(folder)
    assert not folder.exists()


def test_a_finished_stage_stays_finished_and_is_taken_for_no_other(ridge, tmp_path):
    """A resumed run has time for more steps, and for more candidates than before."""

    def chunks(name, settings):
        report = Interrupting(1000)
        stages = Stages(ridge.objective, ridge.data, report, folder=tmp_path, run_id="run")
        stages.run(name, ridge.gp, settings, 1.0)
        return 1000 - report.left

    assert chunks("first", replace(SETTINGS, steps=20)) == 2
    assert chunks("first", SETTINGS) == 0
    assert chunks("another", SETTINGS) == 4


def test_finishing_leaves_other_files_alone(ridge, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / ".stage-000-first.safetensors.0a1b.partial").write_text("left by a killed process")
    two_stages(ridge, tmp_path)
    assert (tmp_path / "stage-001-second.safetensors").exists()
    remove_checkpoints(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_of_another_run_is_refused(ridge, tmp_path):
    two_stages(ridge, tmp_path)
    with pytest.raises(ValueError, match="other data or settings"):
        two_stages(ridge, tmp_path, run_id="another")


def test_what_was_found_once_is_not_found_again(ridge, tmp_path):
    def fresh(run_id="run"):
        return Stages(ridge.objective, ridge.data, Silent(), folder=tmp_path, run_id=run_id)

    assert fresh().remembered("plan", lambda: {"steps": 7}) == {"steps": 7}
    again = fresh()
    assert again.remembered("plan", lambda: {"steps": 8}) == {"steps": 7}
    with pytest.raises(ValueError, match="other data or settings"):
        fresh("another").remembered("plan", dict)
    again.without_checkpoints().run("timing", ridge.gp, SETTINGS, 1.0)
    assert [file.name for file in tmp_path.iterdir()] == ["stage-plan.note.safetensors"]
    remove_checkpoints(tmp_path)
    assert not tmp_path.exists()
