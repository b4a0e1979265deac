"""Who is there before anything starts: strangers and doubles are sent away, the missing named."""

import contextlib
import socket
import time
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from directgp.distributed import TeamError
from directgp.distributed.roll_call import free_port, roll_call, split_address


@pytest.fixture
def address():
    return f"127.0.0.1:{free_port()}"


def test_all_learn_the_same_meeting_point(address):
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(roll_call, address, 3, index, 10.0) for index in (2, 1, 0)]
        second, first, leader = [each.result() for each in waiting]
    assert first.address == second.address == leader.address
    host, port = split_address(leader.address)
    assert host == "127.0.0.1"
    assert port != split_address(address)[1]
    first.leave()
    assert not leader.all_left(0.05)
    assert not second.all_left(0.05)
    second.leave()
    assert leader.all_left(5.0)
    leader.leave()


def _connected(address):
    """A line to the leader, who may not listen yet."""
    for _ in range(100):
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(split_address(address), 5)
        time.sleep(0.05)
    raise AssertionError(f"nobody listens at {address}")


def test_strangers_and_doubles_do_not_count(address):
    with ThreadPoolExecutor(4) as pool:
        leader = pool.submit(roll_call, address, 3, 0, 10.0)
        first = pool.submit(roll_call, address, 3, 1, 10.0)
        for words in (b"GET / HTTP/1.1\r\n\r\n", b"directgp x\n"):
            with _connected(address) as stranger:
                stranger.sendall(words)
        with pytest.raises(TeamError, match="there is no process 7 among 3"):
            roll_call(address, 3, 7, 5.0)
        double = pool.submit(roll_call, address, 3, 1, 10.0)
        # Which of the two came first is chance; the other is told.
        [refused], _ = wait((first, double), return_when="FIRST_COMPLETED")
        assert "process 1 has joined already" in str(refused.exception())
        last = pool.submit(roll_call, address, 3, 2, 10.0)
        meetings = [leader.result(), last.result()]
        meetings += [each.result() for each in (first, double) if each is not refused]
    assert len({meeting.address for meeting in meetings}) == 1
    for meeting in meetings:
        meeting.leave()


def test_the_missing_are_named(address):
    with pytest.raises(TeamError, match=r"process 1 of 2 did not connect within 0\.1 s"):
        roll_call(address, 2, 0, 0.1)
    with pytest.raises(TeamError, match=r"process 1 got no answer from process 0 at 127\.0\.0\.1"):
        roll_call(address, 2, 1, 0.1)


def test_an_address_in_use(address):
    host, port = split_address(address)
    with socket.socket() as taken:
        taken.bind((host, port))
        taken.listen()
        with pytest.raises(TeamError, match="process 0 cannot listen at"):
            roll_call(address, 2, 0, 0.1)
