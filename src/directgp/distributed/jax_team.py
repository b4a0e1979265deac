"""A `Team` of processes connected by `jax.distributed`, on one or several machines."""

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
"""Heartbeat timeout of JAX in seconds. It is long, because a busy or paused process may not respond
for minutes; one that has died is noticed at once by its closed connections."""
_PATIENCE = 30.0
"""Seconds that process 0 waits at the end for the others to leave."""


def connect(
    coordinator: str, num_processes: int, process_id: int, *, timeout: float | int = 300
) -> Team:
    """Connect several processes; returns when all of them have joined.

    Call it before JAX is used for anything else. The processes trust each other and their network:
    use it only where nobody else can connect.

    Args:
        coordinator: HOST:PORT of process 0, which the others must be able to reach.
        num_processes: the number of processes.
        process_id: the number of this process, from 0.
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
        # Without these a lost peer ends this process with a stack trace instead of an exception.
        ("jax_enable_recoverability", True),
        ("jax_enable_preemption_service", False),
    ):
        jax.config.update(option, value)
    try:
        with _without_output():
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
        text = " ".join(str(error).split())[:200]
        raise TeamError(f"process {process_id} could not join the others ({text})") from None
    # Runs before JAX's own exit handler, which ends the process if others have left before.
    atexit.register(_leave, meeting, team)
    return team


def _leave(meeting: Meeting, team: Team) -> None:
    """Disconnect at exit; process 0, which has all connections, is the last."""
    gone = meeting.all_left(_PATIENCE if team.leads else 0.0)
    if team.leads or not gone:
        with contextlib.suppress(RuntimeError):
            jax.distributed.shutdown()
    else:
        # Process 0 has gone, and shutdown would end this process. JAX has no public way to drop
        # the connection.
        from jax._src.distributed import global_state

        global_state.client = None
    meeting.leave()


class JaxTeam(Team):
    """The processes of `jax.distributed`, which must have been initialised.

    Args:
        index: the number of this process.
        size: the number of processes.
    """

    def __init__(self, index: int, size: int):
        self.index, self.size = index, size
        self._mesh = Mesh(np.array(jax.devices()), (AXIS,))

    @property
    def mesh(self) -> Mesh:
        """All devices of all processes."""
        return self._mesh

    def gather(self, data: bytes) -> list[bytes]:
        """The data of every process, in the order of processes."""
        with lost_peers():
            sizes = multihost_utils.process_allgather(np.array([len(data)], np.int32)).ravel()
            # Padded to a power of two, because every new shape is compiled.
            room = max(_SMALLEST, 1 << int(max(sizes) - 1).bit_length()) if max(sizes) else 0
            if not room:
                return [b""] * self.size
            padded = np.frombuffer(data.ljust(room, b"\0"), np.uint8)
            rows = np.asarray(multihost_utils.process_allgather(padded))
        return [rows[index, :size].tobytes() for index, size in enumerate(sizes)]


@contextlib.contextmanager
def lost_peers() -> Iterator[None]:
    """Turn the error that JAX raises when another process has gone into a `TeamError`."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "Gloo" not in str(error) and "collective" not in str(error).lower():
            raise
        raise TeamError(
            "another process stopped responding; see its messages, then start all processes again"
        ) from None


@contextlib.contextmanager
def _without_output() -> Iterator[None]:
    """Discard what libraries of JAX print to stdout and stderr while they connect."""
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
