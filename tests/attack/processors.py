"""The attack on machine code elsewhere: other versions of llvmlite, other processors, no llvmlite.

Each setting is a process of its own that computes random problems beside JAX (`machine_code`).
Versions are installed into a temporary folder; one that cannot be had is counted as such.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.attack.result import Result, Tell, silent

VERSIONS = ("0.43.0", "0.44.0", "0.45.1", "0.46.0", "0.47.0", "0.48.0", "0.49.0")
"""Of llvmlite: older than those allowed, and those between the oldest allowed and ours."""
PROCESSORS = {
    "no AVX": ("x86-64", "+sse2"),
    "AVX2": ("x86-64-v3", "+avx,+avx2,+fma,+sse2"),
    "unknown processor": ("generic", ""),
}
ALLOWED = ("right, machine code", "right, in JAX", "not to be had")
_WARNING = "machine code does not work here"
_PROGRAM = """
import sys
{before}
from tests.attack.machine_code import attack
from directgp.linalg import native
found = attack({count}, {seed})
print(len(found.bad), native.in_use(), *found.bad[:1])
"""
_PROCESSOR = """
from llvmlite import binding
class Features:
    flatten = staticmethod(lambda: {features!r})
binding.get_host_cpu_name = lambda: {name!r}
binding.get_host_cpu_features = Features
"""
_BROKEN = {
    "no llvmlite": "sys.modules['llvmlite'] = None",
    "llvmlite that raises": "import llvmlite.ir; llvmlite.ir.Module = None",
    "switched off": "import os; os.environ['DIRECTGP_NATIVE'] = 'off'",
}


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Compute `count` problems in each setting."""
    result = Result()
    for name, described in PROCESSORS.items():
        before = _PROCESSOR.format(name=described[0], features=described[1])
        _add(result, f"processor: {name}", before, count, seed, tell)
    for name, before in _BROKEN.items():
        _add(result, name, before, count, seed, tell)
    with tempfile.TemporaryDirectory() as folder:
        for version in VERSIONS:
            kind, place = f"llvmlite {version}", Path(folder) / version
            if not _installed(version, place):
                result.add(kind, "not to be had", ALLOWED, tell)
                continue
            before = (
                f"sys.path.insert(0, {str(place)!r}); import llvmlite; "
                f"assert llvmlite.__version__ == {version!r}"
            )
            _add(result, kind, before, count, seed, tell)
    return result


def _installed(version: str, place: Path) -> bool:
    quiet = ["--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *quiet, "--target", str(place)]
    try:
        done = subprocess.run(
            [*command, f"llvmlite=={version}"], capture_output=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _add(result: Result, kind: str, before: str, count: int, seed: int, tell: Tell) -> None:
    with result.timed():
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM.format(before=before, count=count, seed=seed)],
            capture_output=True,
            text=True,
            env=os.environ | {"DIRECTGP_COMPILE_CACHE": "off"},
            timeout=1800,
            check=False,
        )
    bad, used, *more = (done.stdout.split(maxsplit=2) or ["?", "?"])[:3]
    if done.returncode or bad != "0":
        said = f"{bad} wrong {more} {done.stderr[-300:]!r}"
    elif done.stderr.count(_WARNING) > 1:
        said = f"{done.stderr.count(_WARNING)} warnings instead of one"
    else:
        said = "right, machine code" if used == "True" else "right, in JAX"
    tell(f"{kind}: {said}")
    result.add(kind, said, ALLOWED, tell)
