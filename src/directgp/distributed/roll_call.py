"""Wait until all processes have connected by plain sockets, before `jax.distributed` starts.

`jax.distributed` ends the whole process with a stack trace if a process is missing or process 0
leaves first. The sockets allow an error that names the missing processes, and stay open to detect
at the end which processes have left.
"""

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import NamedTuple

from directgp.distributed.base import TeamError

_HELLO = "directgp"
_LINE = 256
_PAUSE = 0.1
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Meeting(NamedTuple):
    """The address for `jax.distributed`, and the open sockets to the other processes."""

    address: str
    lines: list[socket.socket]

    def all_left(self, timeout: float) -> bool:
        """Whether the other sides close all sockets before the timeout in seconds."""
        deadline = time.monotonic() + timeout
        return all(_closed(line, deadline) for line in self.lines)

    def leave(self) -> None:
        """Close the sockets."""
        for line in self.lines:
            line.close()


def _closed(line: socket.socket, deadline: float) -> bool:
    line.settimeout(max(deadline - time.monotonic(), 1e-3))
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def split_address(address: str) -> tuple[str, int]:
    """HOST:PORT in its two parts.

    >>> split_address("node7:29500")
    ('node7', 29500)
    """
    host, colon, port = address.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise TeamError(f"a coordinator is HOST:PORT (such as node7:29500), got {address!r}")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine can reach the address."""
    return host in _LOOPBACK


def free_port(host: str = "127.0.0.1") -> int:
    """A port that is free now."""
    with _listening(host, 0) as listener:
        return listener.getsockname()[1]


def roll_call(address: str, size: int, index: int, timeout: float) -> Meeting:
    """Wait until all processes have connected.

    Args:
        address: host and port of process 0.
        size: the number of processes.
        index: the number of this process.
        timeout: seconds after which a missing process is an error.
    """
    host, port = split_address(address)
    return _call(host, port, size, timeout) if index == 0 else _answer(host, port, index, timeout)


def _call(host: str, port: int, size: int, timeout: float) -> Meeting:
    deadline = time.monotonic() + timeout
    present: dict[int, socket.socket] = {}
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(_listening(host, port))
        except OSError as error:
            raise TeamError(
                f"process 0 cannot listen at {host}:{port} ({error.strerror or error}); give an "
                "address of this machine with a free port"
            ) from None
        while len(present) < size - 1:
            listener.settimeout(max(deadline - time.monotonic(), 1e-3))
            try:
                peer = stack.enter_context(listener.accept()[0])
            except TimeoutError:
                raise TeamError(_missing(set(range(1, size)) - {*present}, size, timeout)) from None
            index = _introduced(peer, size)
            if index in present:
                _send(peer, f"error process {index} has joined already; give each its own number")
            if index is None or index in present:
                peer.close()
                continue
            present[index] = peer
        meeting = f"{host}:{free_port(host if is_loopback(host) else '')}"
        for peer in present.values():
            _send(peer, f"come {meeting}")
        stack.pop_all()
        listener.close()
    return Meeting(meeting, list(present.values()))


def _answer(host: str, port: int, index: int, timeout: float) -> Meeting:
    deadline = time.monotonic() + timeout
    while True:
        left = deadline - time.monotonic()
        answer, leader = "", None
        with contextlib.suppress(OSError):
            leader = socket.create_connection((host, port), max(left, 1e-3))
            _send(leader, f"{_HELLO} {index}")
            leader.settimeout(max(deadline - time.monotonic(), 1e-3))
            answer = _received(leader)
        word, _, rest = answer.partition(" ")
        if leader is not None and word == "come":
            return Meeting(rest, [leader])
        if leader is not None:
            leader.close()
        if word == "error":
            raise TeamError(rest)
        if time.monotonic() + _PAUSE > deadline:
            raise TeamError(
                f"process {index} got no answer from process 0 at {host}:{port} within "
                f"{timeout:g} s; start process 0 there, or check the address and the firewall"
            )
        time.sleep(_PAUSE)


def _introduced(peer: socket.socket, size: int) -> int | None:
    """The process number that a peer sends; None if it sends anything else."""
    peer.settimeout(5.0)
    words = _received(peer).split()
    if len(words) != 2 or words[0] != _HELLO or not words[1].isdecimal():
        return None
    index = int(words[1])
    if not 0 < index < size:
        _send(peer, f"error there is no process {index} among {size} (0 … {size - 1})")
        return None
    return index


def _missing(absent: set[int], size: int, timeout: float) -> str:
    names = ", ".join(str(index) for index in sorted(absent))
    word = "process" if len(absent) == 1 else "processes"
    return (
        f"{word} {names} of {size} did not connect within {timeout:g} s; start every process with "
        "the same coordinator and its own number"
    )


def _send(peer: socket.socket, text: str) -> None:
    with contextlib.suppress(OSError):
        peer.sendall(f"{text}\n".encode())


def _received(peer: socket.socket) -> str:
    """One line; empty if it is too long or incomplete, which is no message of this protocol."""
    data = b""
    with contextlib.suppress(OSError):
        while not data.endswith(b"\n") and len(data) < _LINE:
            more = peer.recv(_LINE)
            if not more:
                return ""
            data += more
    return data.decode("utf-8", "replace").strip() if data.endswith(b"\n") else ""


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host if is_loopback(host) else "", port))
        listener.listen()
        yield listener
