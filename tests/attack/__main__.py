"""All attacks, with their counts: ``python -m tests.attack [--files 5500] [--costs 1500]``."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.attack import costs, model_files
from tests.attack.targets import targets


def main() -> int:
    """Run, print, and say by the exit code whether all outcomes were allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5500, help="altered model files")
    parser.add_argument("--costs", type=int, default=1500, help="costs and expressions")
    parser.add_argument("--few", action="store_true", help="alter files of few kinds of models")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    bad: list[str] = []

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        made = targets(Path(folder), few=given.few)
        print(f"{len(made)} sound model files: {', '.join(each.name for each in made)}")
        files = model_files.attack(made, given.files, given.seed, _tell)
    _show("Altered model files", files.counts)
    print(
        f"{files.total} files in {time.monotonic() - began:.0f} s, the slowest "
        f"{files.slowest:.1f} s, memory + {files.memory >> 20} MiB, bad: {len(files.bad)}\n"
    )
    bad += files.bad

    began = time.monotonic()
    tried = costs.attack(given.costs, given.seed, _tell)
    _show("Costs and expressions", tried.counts)
    print(
        f"{tried.total} costs in {time.monotonic() - began:.0f} s, the slowest "
        f"{tried.slowest:.1f} s, bad: {len(tried.bad)}"
    )
    bad += tried.bad
    return 1 if bad else 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _show(title: str, counts: dict[str, Counter[str]]) -> None:
    outcomes = sorted({outcome for each in counts.values() for outcome in each})
    print(f"\n{title:26}" + "".join(f"{name:>16}" for name in ("tried", *outcomes)))
    for kind, each in counts.items():
        numbers = (sum(each.values()), *(each[outcome] for outcome in outcomes))
        print(f"{kind:26}" + "".join(f"{number:>16}" for number in numbers))
    total = sum(counts.values(), Counter())
    numbers = (sum(total.values()), *(total[outcome] for outcome in outcomes))
    print(f"{'all':26}" + "".join(f"{number:>16}" for number in numbers))


if __name__ == "__main__":
    sys.exit(main())
