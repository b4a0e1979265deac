"""Start and exit of a command-line application, independent of its commands.

Used by ``directgp`` and by ``python -m experiments``, which therefore have the same style of help,
one-line errors and exit codes (see `errors`).
"""

import functools
import gc
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import typer

from directgp.cli.errors import NOTHING, Interrupted, exit_codes, flushed

PARAMETERS: ContextVar[Mapping[str, Any]] = ContextVar("parameters", default=MappingProxyType({}))
"""The arguments and options of the running command by name, with defaults."""
_OBJECTS_A_COLLECTION = 100_000


def new_application(name: str, commands: Mapping[str, Callable[..., None]]) -> typer.Typer:
    """Make an application.

    Args:
        name: the name of the application.
        commands: its commands by name, in the order of the help.
    """
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
        arguments: the command-line arguments after the name of the application.
        name: the name of the application in help and errors.

    Returns:
        The exit code, see `errors`.
    """
    # Modules and traced programs live to the end; collecting cycles among them takes 20 % of the
    # time of a command.
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
    """Flush all output and exit."""
    code = flushed(code)
    gc.freeze()  # skips the collection of cycles at exit
    # After an error or an interrupt, do not wait for threads (such as the compiler's): one that is
    # still running while Python shuts down aborts the process with a message from C++.
    sys.stderr.flush()
    os._exit(code) if code else sys.exit()


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Pass Ctrl-C on to `exit_codes`: some versions of typer swallow KeyboardInterrupt."""

    @functools.wraps(command)
    def call(*given: Any, **named: Any) -> None:
        PARAMETERS.set(named)
        try:
            command(*given, **named)
        except KeyboardInterrupt:
            raise Interrupted(NOTHING) from None

    return call
