"""`make bench`: every table of docs/benchmarks.md from one command."""

from __future__ import annotations

import argparse
import time
import traceback
from importlib import import_module
from pathlib import Path

from benchmarks.sections import SECTIONS, SPEED, Section
from benchmarks.timing import markdown_table, write_json


def main() -> None:
    """Run the chosen sections, print their tables and keep them as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=("all", *SECTIONS), nargs="*", default=SPEED)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    arguments.json.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in SECTIONS if "all" in arguments.only else arguments.only:
        section = SECTIONS[name]
        began = time.monotonic()
        try:
            rows = measured(section)
        except Exception:  # an hour of other sections is not lost to one
            traceback.print_exc()
            failed.append(name)
            continue
        seconds = time.monotonic() - began
        print(f"\n## {section.title} ({seconds:.0f} s)\n\n{markdown_table(rows)}\n", flush=True)
        write_json(arguments.json / f"{name}.json", {name: rows}, seconds)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def measured(section: Section) -> list[dict]:
    """The rows of a section; its module is imported only now, with the peers that it needs."""
    module, _, function = section.make.partition(":")
    return getattr(import_module(f"benchmarks.{module}"), function)()


if __name__ == "__main__":
    main()
