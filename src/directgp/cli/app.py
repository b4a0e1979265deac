"""The application ``directgp`` with all its commands."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from directgp.cli.application import exit_with, new_application, run_application
from directgp.cli.calibrate import calibrate
from directgp.cli.compare import compare
from directgp.cli.decide import decide
from directgp.cli.demo import demo
from directgp.cli.evaluate import evaluate
from directgp.cli.fit import fit
from directgp.cli.inspect import inspect
from directgp.cli.predict import predict
from directgp.cli.processes import GIVEN
from directgp.version import __version__

_COMMANDS = (fit, evaluate, calibrate, predict, decide, compare, inspect, demo)
app = new_application("directgp", {command.__name__: command for command in _COMMANDS})


def _show_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"directgp {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def _about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Calibrated predictions: Gaussian processes trained for the loss they are scored by.

    A table in, a calibrated model, its report and predictions out:

        directgp fit houses.csv --target price -o houses.dgp
        directgp evaluate houses.dgp houses.csv --report report.html
        directgp predict houses.dgp new.csv -o prices.csv

    `directgp COMMAND --help` explains a command, with an example.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see `errors`)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    GIVEN.set(given)
    return run_application(app, given, "directgp")


def main() -> None:
    """The entry point of the installed command."""
    exit_with(run())
