"""Machine code kept between runs: found again only where it can be trusted."""

import os

import pytest

from directgp.linalg.native import object_code
from directgp.linalg.native.object_code import Kept

llvm = pytest.importorskip("llvmlite.binding")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setattr(object_code, "kept_programs", lambda: tmp_path)
    return tmp_path


def test_what_was_kept_is_found_again(folder):
    kept = Kept("run", bytes(range(256)))
    assert object_code.read("a pass") is None
    object_code.write("a pass", kept)
    assert object_code.read("a pass") == kept
    assert object_code.read("another pass") is None
    assert [path.suffix for path in folder.iterdir()] == [".o"]


def test_altered_or_foreign_files_are_not_read(folder):
    object_code.write("a pass", Kept("run", b"code"))
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"!")
    assert object_code.read("a pass") is None
    path.write_bytes(b"")
    assert object_code.read("a pass") is None
    path.write_bytes(whole)
    path.chmod(0o622)
    assert object_code.read("a pass") is None
    path.chmod(0o600)
    assert object_code.read("a pass") is not None
    folder.chmod(0o777)
    assert object_code.read("a pass") is None


def test_without_a_folder_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(object_code, "kept_programs", lambda: None)
    object_code.write("a pass", Kept("run", b"code"))
    assert object_code.read("a pass") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners of files are not known here")
def test_a_pass_from_a_file_is_the_pass_that_was_compiled(folder, monkeypatch):
    """The second processor compiles nothing, and its code has the name that is called."""
    from directgp.linalg.native import library

    name = next(iter(library.PASSES))
    processor = library.Processor()
    assert processor._address(f"kept_{name}", name, "float64")
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(library, "handler", lambda *given: pytest.fail("compiled again"))
    assert library.Processor()._address(f"kept_{name}", name, "float64")


def test_broken_object_code_is_compiled_again(folder):
    from directgp.linalg.native import library

    name = next(iter(library.PASSES))
    assert library.Processor()._address(f"broken_{name}", name, "float64")
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert library.Processor()._address(f"broken_{name}", name, "float64")
    assert path.read_bytes() == whole
