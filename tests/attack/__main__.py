"""Attacks, with their counts: ``python -m tests.attack [NAME[=COUNT] …] [--few] [--seed 0]``.

Several attacks run in a process each, with its own memory and its own JAX, or with ``--together``
one after the other in this one, which saves what a process takes to start.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from importlib import import_module
from pathlib import Path

from tests.attack.result import Result, processor_seconds

ATTACKS = {
    "files": 5500,
    "class_names": 5400,
    "extremes": 4000,
    "commands": 600,
    "costs": 1500,
    "tables": 600,
    "numbers": 2000,
    "interruptions": 240,
    "concurrency": 50,
    "memory": 2000,
    "machine_code": 300,
    "processors": 24,
    "counts": 24,
    "small_tables": 1000,
    "overconfidence": 50,
    "arena": 78,
    "load": 900,
}
"""What is attacked, and how often `make attack` does it."""
CAN_BE_FEW = ("class_names", "extremes", "commands", "numbers", "interruptions", "counts")
"""Attacks that can leave out what takes long to compile."""


def main() -> int:
    """Run, print, and say by the exit code whether all outcomes were allowed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME[=COUNT]", help=f"of {', '.join(ATTACKS)}")
    parser.add_argument(
        "--few", action="store_true", help="few kinds of models: what takes seconds"
    )
    parser.add_argument("--together", action="store_true", help="all in one process")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chosen = {}
    for word in given.names or ATTACKS:
        name, _, count = word.partition("=")
        if name not in ATTACKS or not (count.isdigit() or not count):
            parser.error(f"no attack {word!r}; there are {', '.join(ATTACKS)}")
        chosen[name] = int(count or ATTACKS[name])
    if len(chosen) > 1 and not given.together:
        more = [*(["--few"] if given.few else []), "--seed", str(given.seed)]
        start = [sys.executable, "-m", "tests.attack"]
        codes = [
            subprocess.run([*start, f"{name}={count}", *more], check=False).returncode
            for name, count in chosen.items()
        ]
        return max(codes)
    # The user's folder of compiled programs is for the user's programs.
    os.environ.setdefault("DIRECTGP_COMPILE_CACHE", "off")
    bad = 0
    for name, count in chosen.items():
        began, clock = processor_seconds(), time.monotonic()
        run = _files if name == "files" else partial(_other, name)
        result = run(count, given.seed, given.few)
        _show(name, result.counts)
        grown = f", memory + {result.memory >> 20} MiB" if result.memory else ""
        print(
            f"{result.total} {name} in {processor_seconds() - began:.0f} s of processor time "
            f"({time.monotonic() - clock:.0f} s by the clock), the slowest {result.slowest:.1f} s "
            f"({result.longest:.1f} s){grown}, bad: {len(result.bad)}",
            flush=True,
        )
        bad += len(result.bad)
    return 1 if bad else 0


def _files(count: int, seed: int, few: bool) -> Result:
    from tests.attack import model_files
    from tests.attack.targets import targets

    with tempfile.TemporaryDirectory() as folder:
        made = targets(Path(folder), few=few)
        print(f"{len(made)} sound model files: {', '.join(each.name for each in made)}")
        return model_files.attack(made, count, seed, _tell)


def _other(name: str, count: int, seed: int, few: bool) -> Result:
    own = {"few": True} if few and name in CAN_BE_FEW else {}
    return import_module(f"tests.attack.{name}").attack(count, seed, _tell, **own)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _show(title: str, counts: dict[str, Counter[str]]) -> None:
    outcomes = sorted({outcome for each in counts.values() for outcome in each})
    print(f"\n{title:34}" + "".join(f"{name:>16}" for name in ("tried", *outcomes)))
    for kind, each in counts.items():
        numbers = (sum(each.values()), *(each[outcome] for outcome in outcomes))
        print(f"{kind:34}" + "".join(f"{number:>16}" for number in numbers))
    total = sum(counts.values(), Counter())
    numbers = (sum(total.values()), *(total[outcome] for outcome in outcomes))
    print(f"{'all':34}" + "".join(f"{number:>16}" for number in numbers))


if __name__ == "__main__":
    sys.exit(main())
