"""A file that is being replaced is always the old one or the new one, and nothing is left over."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from directgp.atomic_write import AtomicWrite, move, remove_leftovers, write_bytes, write_text


def only_file(folder: Path) -> bytes:
    """The content of a folder's one file."""
    (path,) = folder.iterdir()
    return path.read_bytes()


def test_content_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old")
    with AtomicWrite(str(path)) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert only_file(tmp_path) == b"new"


def test_text_is_utf8_whatever_it_holds(tmp_path):
    write_text(tmp_path / "file", "β\r\n" + chr(0xDFFF))
    assert only_file(tmp_path) == b"\xce\xb2\r\n?"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_file(tmp_path, error):
    write_bytes(tmp_path / "file", b"old")
    with pytest.raises(error), AtomicWrite(tmp_path / "file") as file:
        file.write(b"new")
        raise error
    assert only_file(tmp_path) == b"old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch, step):
    write_bytes(tmp_path / "file", b"old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_bytes(tmp_path / "file", b"new")
    assert only_file(tmp_path) == b"old"


def test_a_folder_that_cannot_be_flushed_is_no_failure(tmp_path, monkeypatch):
    flush, flushed = os.fsync, []

    def refuses_folders(descriptor):
        flushed.append(descriptor)
        if len(flushed) == 2:
            raise OSError("folders cannot be flushed here")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", refuses_folders)
    write_bytes(tmp_path / "file", b"new")
    assert len(flushed) == 2 and only_file(tmp_path) == b"new"


def test_nothing_is_written_without_commit(tmp_path):
    output = AtomicWrite(tmp_path / "file")
    output.file.write(b"new")
    output.discard()
    output.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_killed_process_leaves_the_old_file_and_its_leftovers_can_be_removed(tmp_path, moment):
    path = tmp_path / "a[b]*"  # not a pattern
    other = tmp_path / ".another.0a.partial"
    script = f"""
        import os, signal
        from directgp.atomic_write import write_bytes
        write_bytes({str(path)!r}, b"old")
        os.{moment} = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
        write_bytes({str(path)!r}, b"new")
    """
    source = str(Path(__file__).resolve().parents[1] / "src")
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=os.environ | {"PYTHONPATH": source}
    )
    assert killed.returncode == -signal.SIGKILL
    other.write_bytes(b"being written by somebody")
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 3
    remove_leftovers(path)
    assert sorted(tmp_path.iterdir()) == [other, path]


@pytest.mark.parametrize("other_disk", [False, True])
def test_a_file_is_moved_also_between_disks(tmp_path, monkeypatch, other_disk):
    source, path = tmp_path / "folder" / "model", tmp_path / "model"
    source.parent.mkdir()
    source.write_bytes(b"new")
    write_bytes(path, b"old")
    rename = os.replace

    def replace(one, other):
        if other_disk and one == source:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(one, other)

    monkeypatch.setattr(os, "replace", replace)
    move(source, path)
    source.parent.rmdir()
    assert only_file(tmp_path) == b"new"


def test_a_file_that_cannot_be_moved_stays(tmp_path):
    (tmp_path / "source").write_bytes(b"new")
    with pytest.raises(OSError):
        move(tmp_path / "source", tmp_path / "absent" / "model")
    assert only_file(tmp_path) == b"new"


@contextmanager
def without_privileges():
    """As a user whom permissions bind, in case the tests are run by root."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_a_folder_that_may_not_be_written_is_named_by_the_file_asked_for():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write_bytes(path, b"old")
        os.chmod(folder, 0o555)
        try:
            with without_privileges(), pytest.raises(PermissionError) as caught:
                write_bytes(path, b"new")
        finally:
            os.chmod(folder, 0o755)
        assert caught.value.filename == str(path)
        assert only_file(Path(folder)) == b"old"


def test_threads_that_write_one_path_do_not_mix(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([number]) * 200_000 for number in range(4)]
    write_bytes(path, contents[0])
    errors, seen, done = [], set(), threading.Event()

    def write(content: bytes) -> None:
        try:
            for _ in range(10):
                write_bytes(path, content)
        except Exception as error:
            errors.append(error)

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert not errors and seen <= set(contents)
    assert only_file(tmp_path) in contents
