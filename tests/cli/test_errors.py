"""One line that says what to do, also where the machine and not the user is to blame."""

import errno

import pytest
import typer

from directgp.cli.errors import UserError, exit_codes


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("give a name"), "error: give a name"),
        (
            OSError(errno.ENOSPC, "No space left on device", "m.dgp"),
            "error: [Errno 28] No space left on device: 'm.dgp'; make room on the disk, or write "
            "to another one",
        ),
        (
            OSError(errno.EACCES, "Permission denied", "m.dgp"),
            "error: [Errno 13] Permission denied: 'm.dgp'; check its permissions",
        ),
        (
            OSError(errno.EIO, "Input/output error", "m.dgp"),
            "error: [Errno 5] Input/output error: 'm.dgp'; check the path and the disk",
        ),
        (ConnectionRefusedError("nobody answers"), "error: nobody answers"),
        (
            MemoryError(),
            "error: MemoryError; not enough memory: give fewer rows or a "
            "smaller --num-inducing, or Parquet, which fit reads in pieces with --stream",
        ),
        (
            RuntimeError("RESOURCE_EXHAUSTED:\nOut of memory"),
            "error: RESOURCE_EXHAUSTED: Out of memory; not enough memory: give "
            "fewer rows or a smaller --num-inducing, or Parquet, which fit reads in pieces with "
            "--stream",
        ),
    ],
    ids=["user", "full", "denied", "broken", "network", "memory", "compiler"],
)
def test_every_error_of_the_machine_comes_with_advice(capsys, error, line):
    with pytest.raises(typer.Exit) as ended, exit_codes():
        raise error
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err == f"{line}\n"
