"""Compiled programs are kept between runs, so that the second run starts sooner.

For Python programs and the command line alike. They live in
``$XDG_CACHE_HOME/directgp/compiled-…`` (``~/.cache`` without it), one folder for each kind of
processor and version of JAX: a home folder that several machines share must not hand one of them
the other's machine code. ``DIRECTGP_COMPILE_CACHE=off`` switches it off, another value names the
folder; a cache that JAX was told of otherwise is respected. Whatever goes wrong here only costs
time, so it is ignored.

What is read from the folder is run. It is made for its user alone, and where others could have put
something there it is left alone, with a warning.
"""

import contextlib
import hashlib
import os
import platform
import stat
import warnings
from functools import cache
from pathlib import Path

_SWITCH = "DIRECTGP_COMPILE_CACHE"
_OFF = ("off", "0", "no", "false", "none")
_MOST_BYTES = 512 * 1024**2


class SharedFolder(UserWarning):
    """Programs are not kept, because others could write where they would be."""


@cache
def kept_programs() -> Path | None:
    """Switch the cache on where it is not yet; the folder, or None where there is none."""
    return keep_compiled_programs()


def keep_compiled_programs() -> Path | None:
    """Switch the cache on; the folder, or None where there is none."""
    # Written by the compiler itself to stderr; it has nothing to say to a user.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    chosen = os.environ.get(_SWITCH, "")
    if chosen.lower() in _OFF or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return None
    folder = _made(chosen)
    if folder is None:
        return None
    if not is_private(folder):
        warnings.warn(
            f"compiled programs are not kept: {folder} can be written by others, who could have "
            f"theirs run; take their rights to it and the folders above it (chmod go-w), or name "
            f"another by {_SWITCH}",
            SharedFolder,
            stacklevel=2,
        )
        return None
    with contextlib.suppress(Exception):
        import jax
        from jax.experimental.compilation_cache import compilation_cache

        current = jax.config.values["jax_compilation_cache_dir"]
        if current is not None and Path(current) != folder:
            return None
        _forget_unfinished(folder)
        for option, value in _options(folder).items():
            jax.config.update(option, value)
        if current is None:
            compilation_cache.reset_cache()  # programs compiled before this were not looked up
        # Processes that share the folder evict each other's entries.
        warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
        return folder
    return None


def _made(chosen: str) -> Path | None:
    """The folder, made if it was not there; None if it cannot be made or written."""
    with contextlib.suppress(Exception):
        import jax

        current = jax.config.values["jax_compilation_cache_dir"]
        folder = Path(chosen) if chosen else _home() / f"compiled-{jax.__version__}-{_processor()}"
        if current is not None and Path(current) != folder:
            return None
        if not chosen:
            _home().parent.mkdir(parents=True, exist_ok=True)
            _home().mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if os.access(folder, os.W_OK) else None
    return None


def is_private(path: Path) -> bool:
    """Whether only this user (and root) can write there, or put another in the place of it.

    Folders above it that others can write must be sticky, as /tmp is. Where owners are not known
    the answer is yes.
    """
    if not hasattr(os, "getuid"):
        return True
    others = stat.S_IWGRP | stat.S_IWOTH
    whole = path.resolve()
    own = whole.stat()
    if own.st_uid != os.getuid() or own.st_mode & others:
        return False
    above = [folder.stat() for folder in whole.parents]
    return all(
        found.st_uid in (0, os.getuid())
        and (not found.st_mode & others or bool(found.st_mode & stat.S_ISVTX))
        for found in above
    )


def for_workers(folder: Path) -> dict[str, str]:
    """The environment of processes that keep their programs in the same folder, as we do."""
    return {option.upper(): str(value) for option, value in _options(folder).items()}


def _options(folder: Path) -> dict[str, str | float | int]:
    return {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_compilation_cache_max_size": _MOST_BYTES,
    }


def _forget_unfinished(folder: Path) -> None:
    """Remove entries without the time of their last use, with which JAX would add no other."""
    for entry in folder.glob("*-cache"):
        if not entry.with_name(entry.name.removesuffix("-cache") + "-atime").exists():
            entry.unlink(missing_ok=True)


def _home() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "directgp"


def _processor() -> str:
    """A digest of what the processor can do."""
    known = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        wanted = ("model name", "flags", "Features", "CPU part")
        known += sorted({line for line in lines if line.split("\t")[0].strip() in wanted})
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]
