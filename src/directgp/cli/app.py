"""The application: its commands, and the one place where it starts and ends."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from directgp.cli.compare import compare
from directgp.cli.decide import decide
from directgp.cli.demo import demo
from directgp.cli.errors import NOTHING, Interrupted, exit_codes, flushed
from directgp.cli.evaluate import evaluate
from directgp.cli.fit import fit
from directgp.cli.inspect import inspect
from directgp.cli.predict import predict
from directgp.cli.reproduce import reproduce
from directgp.cli.results import results
from directgp.cli.together import GIVEN
from directgp.version import __version__

app = typer.Typer(
    name="directgp",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Ctrl-C must reach `exit_codes`: of a KeyboardInterrupt some versions of typer say nothing."""

    @functools.wraps(command)
    def call(*given: Any, **named: Any) -> None:
        try:
            command(*given, **named)
        except KeyboardInterrupt:
            raise Interrupted(NOTHING) from None

    return call


for command in (
    fit, evaluate, predict, decide, compare, inspect, demo, reproduce, results,
):  # fmt: skip
    app.command()(_interruptible(command))


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
    """Predictions you can believe: Gaussian processes trained for the loss they are judged by.

    A table in, a calibrated model, its report and predictions out:

        directgp fit houses.csv --target price -o houses.dgp
        directgp evaluate houses.dgp houses.csv --report report.html
        directgp predict houses.dgp new.csv -o prices.csv

    `directgp COMMAND --help` explains a command, with an example.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code, see `errors`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    GIVEN.set(given)
    try:
        with warnings.catch_warnings(), exit_codes():
            code = app(
                given,
                prog_name="directgp",
                standalone_mode=False,
            )
        return int(code or 0)
    except typer.Exit as done:
        return int(done.exit_code)
    except typer.Abort:
        typer.echo(f"Interrupted. {NOTHING}", err=True)
        return 130


def main() -> None:
    """The entry point of the installed command."""
    code = flushed(run())
    # After an error or an interrupt threads (of the compiler, say) need not be waited for; where
    # one still runs while Python ends, the process would be aborted with a line of C++.
    sys.stderr.flush()
    os._exit(code) if code else sys.exit()
