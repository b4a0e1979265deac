"""How a command-line application starts and ends, whatever its commands are.

Used by ``directgp`` itself and by ``python -m experiments``: both have the same help, the same
one-line errors and the same exit codes (see `errors`).
"""

import functools
import gc
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from directgp.cli.errors import NOTHING, Interrupted, exit_codes, flushed

_OBJECTS_A_COLLECTION = 100_000


def new_application(name: str, commands: Mapping[str, Callable[..., None]]) -> typer.Typer:
    """An application with these commands by name, in this order."""
    app = typer.Typer(
        name=name,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command_name, command in commands.items():
        app.command(command_name)(_interruptible(command))
    return app


def run_application(app: typer.Typer, arguments: Sequence[str], name: str) -> int:
    """Run one command.

    Args:
        app: from `new_application`.
        arguments: the words after the name of the application.
        name: how the user calls the application; help and errors say it.

    Returns:
        The exit code, see `errors`.
    """
    # Imports and traced programs stay: looking for cycles among them takes a fifth of the time.
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    try:
        with warnings.catch_warnings(), exit_codes():
            code = app(list(arguments), prog_name=name, standalone_mode=False)
        return int(code or 0)
    except typer.Exit as done:
        return int(done.exit_code)
    except typer.Abort:
        typer.echo(f"Interrupted. {NOTHING}", err=True)
        return 130


def exit_with(code: int) -> None:
    """End the process, once all output is out."""
    code = flushed(code)
    gc.freeze()  # else Python searches all that is about to go for cycles
    # After an error or an interrupt threads (of the compiler, say) need not be waited for; where
    # one still runs while Python ends, the process would be aborted with a line of C++.
    sys.stderr.flush()
    os._exit(code) if code else sys.exit()


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Ctrl-C must reach `exit_codes`: of a KeyboardInterrupt some versions of typer say nothing."""

    @functools.wraps(command)
    def call(*given: Any, **named: Any) -> None:
        try:
            command(*given, **named)
        except KeyboardInterrupt:
            raise Interrupted(NOTHING) from None

    return call
