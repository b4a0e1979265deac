"""A team of processes that JAX connects: on one machine or on many."""

import atexit
import contextlib
import os
from collections.abc import Iterator

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh

from directgp.distributed.base import ALONE, AXIS, Team, TeamError
from directgp.distributed.roll_call import Meeting, is_loopback, roll_call, split_address

_SMALLEST = 1024
_LONGEST_SILENCE = 3600
"""Seconds without a sign of life after which JAX ends the others; who is busy or paused may be
silent for minutes, and who dies is noticed at once by its closed connections."""
_PATIENCE = 30.0
"""Seconds that the leader waits at the end for the others to leave."""


def connect(
    coordinator: str, num_processes: int, process_id: int, *, timeout: float | int = 300
) -> Team:
    """Join a team of processes; returns when all of them have connected.

    Call it before JAX is used for anything else. The processes trust each other and their network:
    use it only where nobody else can connect.

    Args:
        coordinator: HOST:PORT of process 0, which the others must be able to reach.
        num_processes: the size of the team.
        process_id: of this process, from 0.
        timeout: seconds to wait; then a `TeamError` names the missing processes.
    """
    split_address(coordinator)
    if num_processes < 1 or not 0 <= process_id < num_processes:
        raise TeamError(
            f"process_id must be from 0 to num_processes − 1, got {process_id} of {num_processes}"
        )
    if not timeout > 0:
        raise TeamError(f"timeout must be a number of seconds above 0, got {timeout}")
    if num_processes == 1:
        return ALONE
    meeting = roll_call(coordinator, num_processes, process_id, float(timeout))
    host, port = split_address(meeting.address)
    for option, value in (
        ("jax_cpu_collectives_implementation", "gloo"),
        # Without these a lost peer would end this process with a stack trace, not an exception.
        ("jax_enable_recoverability", True),
        ("jax_enable_preemption_service", False),
    ):
        jax.config.update(option, value)
    try:
        with _hushed():
            jax.distributed.initialize(
                meeting.address,
                num_processes,
                process_id,
                cluster_detection_method="deactivate",
                coordinator_bind_address=f"{host if is_loopback(host) else '[::]'}:{port}",
                initialization_timeout=max(10, int(timeout)),
                heartbeat_timeout_seconds=_LONGEST_SILENCE,
            )
            team = JaxTeam(process_id, num_processes)
            team.gather(b"")
    except RuntimeError as error:
        said = " ".join(str(error).split())[:200]
        raise TeamError(f"process {process_id} could not join the team ({said})") from None
    # Runs before JAX's own farewell, which would end the process if others have left before.
    atexit.register(_leave, meeting, team)
    return team


def _leave(meeting: Meeting, team: Team) -> None:
    """Disconnect at exit; process 0, which holds all connections, last."""
    gone = meeting.all_left(_PATIENCE if team.leads else 0.0)
    if team.leads or not gone:
        with contextlib.suppress(RuntimeError):
            jax.distributed.shutdown()
    else:  # nobody is left to say goodbye to; JAX has no public way to drop the connection
        from jax._src.distributed import global_state

        global_state.client = None
    meeting.leave()


class JaxTeam(Team):
    """Members of `jax.distributed`, which must have been initialised."""

    def __init__(self, index: int, size: int):
        self.index, self.size = index, size
        self._mesh = Mesh(np.array(jax.devices()), (AXIS,))

    @property
    def mesh(self) -> Mesh:
        """All devices of all processes."""
        return self._mesh

    def gather(self, data: bytes) -> list[bytes]:
        """What every process gave, in the order of processes."""
        with lost_peers():
            sizes = multihost_utils.process_allgather(np.array([len(data)], np.int32)).ravel()
            # A power of two: every new shape is compiled.
            room = max(_SMALLEST, 1 << int(max(sizes) - 1).bit_length()) if max(sizes) else 0
            if not room:
                return [b""] * self.size
            padded = np.frombuffer(data.ljust(room, b"\0"), np.uint8)
            rows = np.asarray(multihost_utils.process_allgather(padded))
        return [rows[index, :size].tobytes() for index, size in enumerate(sizes)]


@contextlib.contextmanager
def lost_peers() -> Iterator[None]:
    """What JAX raises when a peer has gone, as a `TeamError`."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "Gloo" not in str(error) and "collective" not in str(error).lower():
            raise
        raise TeamError(
            "another process of the team stopped answering; see what it said, then start all of "
            "them again"
        ) from None


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Hide what the libraries below JAX print to stdout and stderr while they connect."""
    kept = [os.dup(number) for number in (1, 2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nothing, number)
        yield
    finally:
        for number, original in zip((1, 2), kept, strict=True):
            os.dup2(original, number)
            os.close(original)
        os.close(nothing)
