"""A progress bar with the current loss, its two terms and the time left."""

import sys
from types import TracebackType
from typing import Any

from directgp.training.loop import State
from directgp.training.progress_columns import bar_of_steps


class Silent:
    """Shows nothing."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def stage(self, name: str, steps: int, doing: str = "compiling …") -> None:
        """Ignored."""

    def update(self, state: State) -> None:
        """Ignored."""


class ProgressBar:
    """One line: the stage, objective = risk + penalty (per row), validation loss, time left."""

    def __init__(self, console: Any = None):
        from rich.console import Console  # only where a bar is shown

        self._console = console or Console(stderr=True)
        self._progress = bar_of_steps(self._console)
        self._task: Any = None
        self._count = 0

    def __enter__(self) -> "ProgressBar":
        if self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._log()
        if self._console.is_terminal:
            self._progress.stop()

    def stage(self, name: str, steps: int, doing: str = "compiling …") -> None:
        """Show the next stage; a log file has one line per stage.

        Args:
            name: of the stage.
            steps: their number.
            doing: the text before the first numbers.
        """
        self._log()
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._count += 1
        self._task = self._progress.add_task(
            f"stage {self._count}: {name}", total=steps, numbers=doing
        )

    def _log(self) -> None:
        if self._task is not None and not self._console.is_terminal:
            task = self._progress.tasks[0]
            self._console.print(f"{task.description}: {task.fields['numbers']}")

    def update(self, state: State) -> None:
        """Move the bar and show the newest numbers."""
        if self._task is None or not state.history["objective"]:
            return
        history = state.history
        numbers = (
            f"objective {history['objective'][-1]:.4f} = risk {history['risk'][-1]:.4f} "
            f"+ penalty {history['penalty'][-1]:.4f}"
        )
        if history["validation"]:
            numbers += f", validation {history['validation'][-1]:.4f}"
        if state.failures:
            numbers += f", {state.failures} roll-backs"
        self._progress.update(self._task, completed=state.step, numbers=numbers)


class Lines(Silent):
    """Prints one line at the beginning of every stage, for log files."""

    def stage(self, name: str, steps: int, doing: str = "compiling …") -> None:
        """Print the name."""
        print(f"{name}: {doing}", file=sys.stderr, flush=True)


def member_reporter(verbose: bool | None) -> "ProgressBar | Silent":
    """As `reporter`, but by default one line per stage if there is no terminal."""
    return Lines() if verbose is None and not sys.stderr.isatty() else reporter(verbose)


def reporter(verbose: bool | None) -> "ProgressBar | Silent":
    """A progress bar, or `Silent`; None shows it only in a terminal."""
    show = sys.stderr.isatty() if verbose is None else verbose
    return ProgressBar() if show else Silent()
