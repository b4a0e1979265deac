"""The application ``python -m experiments`` with all its commands."""

import sys
from collections.abc import Sequence

from directgp.cli.application import exit_with, new_application, run_application
from experiments.commands.combinations import combinations
from experiments.commands.list import list_figures
from experiments.commands.page import page
from experiments.commands.results import results
from experiments.commands.run import run as run_figures

NAME = "python -m experiments"

app = new_application(
    "experiments",
    {
        "list": list_figures,
        "run": run_figures,
        "results": results,
        "page": page,
        "combinations": combinations,
    },
)


@app.callback()
def _about() -> None:
    """Tables and figures of the papers: run them, check their claims, write the pages.

    `python -m experiments list` shows all figures and their running times.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see `directgp.cli.errors`)."""
    return run_application(app, sys.argv[1:] if arguments is None else arguments, NAME)


def main() -> None:
    """Run the command of the process's arguments, and exit."""
    exit_with(run())
