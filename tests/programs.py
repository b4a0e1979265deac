"""The suite keeps what it compiles, for its other workers and its next runs.

The programs are in build/test-programs, which `make clean` removes. JAX finds one by its text, by
the options of the compiler and by its own version, so nothing that changes in the source is
missed. A first run costs nothing more; in the next ones two files that mostly compile took 38 s of
processor time in place of 65 s. DIRECTGP_TEST_PROGRAMS=off compiles everything anew.
"""

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import jax

_FOLDER = Path(__file__).resolve().parents[1] / "build" / "test-programs"
_MOST_BYTES = 1024**3
_PROGRAMS_A_CONTEXT = 200


def keep_programs(is_worker: bool) -> None:
    """Read compiled programs from the folder and write new ones there.

    Workers share it. One that reads what another has half written compiles the program itself, of
    which JAX warns (pyproject.toml ignores that warning).

    Args:
        is_worker: whether another process has already seen to the size of the folder.
    """
    if os.environ.get("DIRECTGP_TEST_PROGRAMS", "on").lower() == "off":
        return
    from directgp.linalg.compile_cache import _processor

    folder = _FOLDER / _processor()
    if not is_worker and _bytes_in(folder) > _MOST_BYTES:
        shutil.rmtree(folder)  # most are of source that has changed since
    folder.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def compile_hastily() -> None:
    """Programs of short runs are compiled without optimisation, and more of them are kept.

    Their operations are not said to come from a stack of a hundred calls, only from the last.
    """
    from directgp.training import compiling

    compiling._OPTIONS[1] = compiling._OPTIONS[0]
    compiling.MOST_PROGRAMS = 400
    jax.config.update("jax_traceback_in_locations_limit", 1)
    _share_contexts()


def _share_contexts() -> None:
    """Many programs are written in one context of MLIR: JAX makes one for each.

    To make it is a quarter of the time that one operation takes to compile. What a context has
    seen it keeps, so there is a new one from time to time. JAX has no public way to say this;
    where it is made otherwise than here, each program has its own as before.
    """
    from jax._src.interpreters import mlir

    make = getattr(mlir, "make_ir_context", None)
    if make is None:
        return
    known = threading.local()

    def shared() -> Any:
        known.count = getattr(known, "count", 0) + 1
        if known.count % _PROGRAMS_A_CONTEXT == 1:
            known.context = make()
        return known.context

    mlir.make_ir_context = shared


def _bytes_in(folder: Path) -> int:
    return sum(entry.stat().st_size for entry in folder.glob("*")) if folder.is_dir() else 0
