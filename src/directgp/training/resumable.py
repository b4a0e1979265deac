"""A fit as a sequence of resumable stages: warm-up, candidates for β, final training."""

import re
import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from directgp.distributed import ALONE, Team
from directgp.objective import Batch
from directgp.training import checkpoint
from directgp.training.loop import (
    GP,
    Feed,
    Guard,
    ObjectiveFunction,
    Settings,
    State,
    Trained,
    run,
    start,
)
from directgp.training.progress import ProgressBar, Silent

_NAMES = ("*-[0-9][0-9][0-9]-*.safetensors*", "*.note.safetensors*")
"""Checkpoint files of stages, and notes (see `Stages.remembered`)."""


class Stages:
    """Runs the stages of a fit; with a folder, every stage can be interrupted and resumed.

    Each stage has a checkpoint file. A resumed fit skips finished stages and continues the
    unfinished one, with bitwise the same result as an uninterrupted run. In a team the leader has
    the files.
    """

    def __init__(
        self,
        objective: ObjectiveFunction,
        data: Batch | Feed,
        report: ProgressBar | Silent,
        *,
        guard: Guard | None = None,
        folder: Path | None = None,
        run_id: str = "",
        prefix: str = "stage",
        every_seconds: float = 10.0,
        team: Team = ALONE,
    ):
        self._objective, self._data, self._report = objective, data, report
        self._guard, self._folder, self._run_id = guard, folder, run_id
        self._prefix, self._every = prefix, every_seconds
        self._count = 0
        self._team, self._writes = team, folder is not None and team.leads
        if folder is not None and team.leads:
            folder.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        name: str,
        gp: GP,
        settings: Settings,
        beta: float,
        validation: Callable[[GP], float] | None = None,
    ) -> Trained:
        """Run one stage, with a checkpoint file named by its position in the sequence and its name.

        The position does not identify it: with more time than before, a race has more stages.

        Args:
            name: of the stage.
            gp: what is trained.
            settings: of the run.
            beta: weight of the divergence.
            validation: the loss of held-out rows, if there are any.
        """
        self._report.stage(name, settings.steps)
        latest, path = start(gp), None
        if self._folder is not None:
            path = self._folder / f"{self._prefix}-{self._count:03d}-{_plain(name)}.safetensors"
            if self._team.agree(path.exists()):
                latest = checkpoint.read_jointly(path, latest, self._run_id, self._team)
        self._count += 1
        written = time.monotonic()

        def after_chunk(current: State) -> None:
            nonlocal latest, written
            latest = current
            self._report.update(current)
            due = time.monotonic() - written >= self._every
            if path is not None and self._writes and due:
                checkpoint.write(path, current, self._run_id)
                written = time.monotonic()

        try:
            trained = run(
                gp,
                self._objective,
                self._data,
                settings,
                beta=beta,
                validation=validation,
                state=latest,
                after_chunk=after_chunk,
                guard=self._guard,
            )
            # Final: a resumed run with time for more steps must not add steps to this stage.
            latest = replace(latest, done=trained.reason)
        finally:
            if path is not None and self._writes and latest.step > 0:
                checkpoint.write(path, latest, self._run_id)
        return trained

    def remembered(self, name: str, find: Callable[[], Any]) -> Any:
        """The result of `find`, or what it was before the fit was interrupted.

        Args:
            name: of the file.
            find: returns a value that JSON can represent.
        """
        if self._folder is None:
            return find()
        path = self._folder / f"{self._prefix}-{name}.note.safetensors"
        if self._team.agree(path.exists()):
            return self._team.agree(self._team.jointly(lambda: self._note(path)))
        found = find()
        if self._writes:
            checkpoint.write_note(path, found, self._run_id)
        return found

    def _note(self, path: Path) -> Any:
        return checkpoint.read_note(path, self._run_id) if self._team.leads else None

    def without_checkpoints(self) -> "Stages":
        """The same stages without checkpoints, for steps that are not part of the fit."""
        other = copy(self)
        other._folder, other._writes = None, False
        return other


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a completed fit; other files stay."""
    for pattern in _NAMES:
        for path in folder.glob(pattern):
            checkpoint.remove(path)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _plain(name: str) -> str:
    """A name that is valid on every file system.

    >>> _plain("final (β = 1e+04)")
    'final-1e+04'
    """
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", name).strip("-")
