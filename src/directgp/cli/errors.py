"""Exit codes, and errors as one line on stderr instead of a traceback.

0    success
1    internal error; the line names a log file with the traceback
2    bad input; the line says what is wrong and what to do
130  interrupted; the line says where checkpoints are and how to resume
"""

import contextlib
import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from directgp.errors import DirectGPError

# The base class of usage errors; its module depends on the version of typer.
UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

NOTHING = "Nothing was written."


class UserError(DirectGPError):
    """An error that the user can fix; its text is the line that is shown."""


class Interrupted(Exception):
    """Ctrl-C during training; its text says how to resume."""


@contextlib.contextmanager
def exit_codes() -> Iterator[None]:
    """Turn exceptions of a command into an exit code and one line on stderr."""
    try:
        yield
    except (typer.Exit, typer.Abort, SystemExit):
        raise
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message())
            raise typer.Exit(0) from None
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "directgp"
        message = one_line(ValueError(error.format_message())).rstrip(".")
        _say(f"error: {message}; see {path} --help")
        raise typer.Exit(2) from None
    except Interrupted as error:
        _say(f"Interrupted. {error}")
        raise typer.Exit(130) from None
    except KeyboardInterrupt:
        _say(f"Interrupted. {NOTHING}")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        discard_output()
        raise typer.Exit(1) from None
    except Exception as error:
        if _is_about_input(error):
            _say(f"error: {one_line(error)}{advice_on(error)}")
            raise typer.Exit(2) from None
        _say(f"internal error: {one_line(error)} (the traceback is in {_logged(error)})")
        raise typer.Exit(1) from None


def flushed(code: int) -> int:
    """Flush stdout and return the exit code: at least 1 if the reader of a pipe has closed it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return code or 1
    return code


def discard_output() -> None:
    """Replace stdout after its reader has closed it, so that flushing raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks or control characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(c if c.isprintable() else "?" for c in text)


def _is_about_input(error: Exception) -> bool:
    """Whether the user can fix it: bad input, or a lack of disk space or memory."""
    return isinstance(error, DirectGPError | OSError) or _is_out_of_memory(error)


_OF_DISKS = {
    errno.ENOSPC: "make room on the disk, or write to another one",
    errno.EDQUOT: "make room on the disk, or write to another one",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EROFS: "write somewhere else",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}


def advice_on(error: Exception) -> str:
    """What to do about an error of the operating system; else an empty text."""
    if _is_out_of_memory(error):
        return (
            "; not enough memory: give fewer rows or a smaller --num-inducing, or Parquet, which "
            "fit reads in pieces with --stream"
        )
    if not isinstance(error, OSError):
        return ""
    usual = "" if error.filename is None else "check the path and the disk"
    advice = _OF_DISKS.get(error.errno or 0, usual)
    return f"; {advice}" if advice else ""


def _is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out, in Python or in XLA."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


def _logged(error: Exception) -> Path:
    """Write the traceback to the user's state folder, or else to the temporary folder."""
    text = "".join(traceback.format_exception(error))
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    for folder in (Path(state) / "directgp", Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"error-{stamp}.log"
            path.write_text(f"{' '.join(sys.argv)}\n\n{text}", "utf-8")
            return path
    return Path(os.devnull)


def _say(text: str) -> None:
    typer.echo(text, err=True)
