"""Provenance of a result: package versions and the commit of the repository."""

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from directgp.version import __version__

_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "optax", "equinox")
_COMPUTES = ("src", "experiments", ":(exclude)experiments/results")
"""Paths that results depend on."""


@cache
def versions() -> dict[str, str]:
    """Versions of Python, this library and its numerical dependencies."""
    found = {"python": platform.python_version(), "directgp": __version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def commit() -> str:
    """The commit of this checkout, with `+` if its code has uncommitted changes; "" if unknown."""
    folder = Path(__file__).resolve().parents[1]
    head = _git(folder, "rev-parse", "HEAD")
    edited = bool(head) and bool(_git(folder, "status", "--porcelain", "--", *_COMPUTES))
    return head + "+" * edited


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
