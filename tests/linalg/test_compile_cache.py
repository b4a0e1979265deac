"""Compiled programs are kept only where nobody else can put theirs."""

import os
import stat

import pytest

from directgp.linalg import compile_cache
from directgp.linalg.compile_cache import SharedFolder, is_private, keep_compiled_programs

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners are not known here")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A place for the folder; JAX keeps no programs yet and is told of none."""
    import jax

    own = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.delenv("DIRECTGP_COMPILE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jax.config, "update", lambda name, value: None)
    yield tmp_path
    monkeypatch.undo()
    jax.config.update("jax_compilation_cache_dir", own)


def test_the_folder_is_made_for_its_user_alone_whatever_the_umask(home):
    before = os.umask(0)
    try:
        folder = keep_compiled_programs()
    finally:
        os.umask(before)
    assert folder is not None
    for made in (folder, folder.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_is_refused(home, mode):
    folder = keep_compiled_programs()
    assert folder is not None
    folder.chmod(mode)
    with pytest.warns(SharedFolder, match="can be written by others"):
        assert keep_compiled_programs() is None


def test_so_is_one_that_others_can_put_another_in_the_place_of(home, monkeypatch):
    (home / "open").mkdir()
    (home / "open").chmod(0o777)
    monkeypatch.setenv("DIRECTGP_COMPILE_CACHE", str(home / "open" / "programs"))
    with pytest.warns(SharedFolder, match="can be written by others") as told:
        assert keep_compiled_programs() is None
    assert "\n" not in str(told[0].message)
    (home / "open").chmod(0o1777)  # as /tmp: nobody moves what is another's
    assert keep_compiled_programs() == home / "open" / "programs"


def test_so_is_one_of_somebody_else(home, monkeypatch):
    folder = keep_compiled_programs()
    assert folder is not None
    monkeypatch.setattr(compile_cache.os, "getuid", lambda: os.stat(folder).st_uid + 1)
    assert not is_private(folder)
    with pytest.warns(SharedFolder):
        assert keep_compiled_programs() is None


def test_and_a_link_to_one(home, monkeypatch):
    (home / "real").mkdir()
    (home / "real").chmod(0o777)
    (home / "link").symlink_to(home / "real")
    monkeypatch.setenv("DIRECTGP_COMPILE_CACHE", str(home / "link"))
    with pytest.warns(SharedFolder):
        assert keep_compiled_programs() is None
