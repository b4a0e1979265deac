"""Training one model with several processes: options, and how the processes connect."""

import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from directgp.cli.errors import UserError
from directgp.cli.options import under

several = under("Several processes")
GIVEN: ContextVar[Sequence[str]] = ContextVar("arguments", default=())
"""The arguments of the running command, to start other processes with the same."""

Processes = Annotated[
    int | None,
    several("Train with N processes on this machine, each reading its part of the Parquet.", "N"),
]
Coordinator = Annotated[
    str | None,
    several(
        "Address of process 0; start this command once per process, on any machines.", "HOST:PORT"
    ),
]
NumProcesses = Annotated[int | None, several("The number of processes.", "N")]
ProcessId = Annotated[
    int | None, several("The number of this process, from 0; process 0 writes the model.", "K")
]
OwnFiles = Annotated[
    bool,
    several(
        "DATA holds only the rows of this process; otherwise all processes read the same DATA.",
        None,
        "--own-files",
    ),
]
JoinTimeout = Annotated[float, several("How long to wait for the other processes.", "SECONDS")]


@dataclass(frozen=True)
class Place:
    """The process's rank, the number of processes and the coordinator, from the command line."""

    coordinator: str = ""
    num_processes: int = 1
    process_id: int = 0
    own_files: bool = False
    timeout: float = 300.0

    @property
    def leads(self) -> bool:
        """Whether this process writes the model and prints."""
        return self.process_id == 0

    def join(self) -> Any:
        """Connect the processes, before JAX computes anything."""
        from directgp.distributed import ALONE
        from directgp.distributed.jax_team import connect

        if not self.coordinator:
            return ALONE
        return connect(self.coordinator, self.num_processes, self.process_id, timeout=self.timeout)


HERE = Place()
"""A process that trains alone."""


def place(
    coordinator: str | None,
    num_processes: int | None,
    process_id: int | None,
    own_files: bool,
    timeout: float,
) -> Place:
    """The place that the options describe.

    Args:
        coordinator: the address of process 0; with it the next two must be given.
        num_processes: the number of processes.
        process_id: the number of this process.
        own_files: whether each process has its own files.
        timeout: seconds to wait for the other processes.
    """
    given = (coordinator, num_processes, process_id)
    if all(part is None for part in given):
        if own_files:
            raise UserError("--own-files is for several processes; give --coordinator too")
        return HERE
    if coordinator is None or num_processes is None or process_id is None:
        raise UserError("--coordinator, --num-processes and --process-id go together; give all")
    return Place(coordinator, num_processes, process_id, own_files, timeout)


def check_reading(stream: bool | None, processes: int | None, coordinator: str | None) -> None:
    """Raise an error for --in-memory with several processes, which read DATA as a stream."""
    if stream is False and (processes is not None or coordinator is not None):
        raise UserError("several processes read DATA as a stream; leave out --in-memory")


def launch_fit(processes: int, coordinator: str | None, data: Path) -> int:
    """Run this command in several processes on this machine.

    Args:
        processes: how many.
        coordinator: must be None, as the processes are local.
        data: the Parquet file or folder.

    Returns:
        The exit code.
    """
    from directgp.distributed.launch import launch
    from directgp.distributed.roll_call import free_port
    from directgp.tables.parquet_source import is_parquet

    if processes < 1:
        raise UserError(f"--processes must be at least 1, got {processes}")
    if coordinator is not None:
        raise UserError("--processes starts processes here, --coordinator joins others; give one")
    if not is_parquet(data):
        raise UserError(f"several processes can read only Parquet, and {data} is not Parquet")
    again = [sys.executable, "-m", "directgp", *without_processes(GIVEN.get())]
    where = ["--coordinator", f"127.0.0.1:{free_port()}", "--num-processes", str(processes)]
    return launch([[*again, *where, "--process-id", str(k)] for k in range(processes)])


def without_processes(arguments: Sequence[str]) -> list[str]:
    """The arguments without --processes.

    >>> without_processes(["fit", "rows", "--processes", "2", "--quiet"])
    ['fit', 'rows', '--quiet']
    >>> without_processes(["fit", "--processes=2", "rows"])
    ['fit', 'rows']
    """
    kept, skip = [], False
    for argument in arguments:
        if not skip and not argument.startswith("--processes="):
            skip = argument == "--processes"
            kept += [] if skip else [argument]
        else:
            skip = False
    return kept
