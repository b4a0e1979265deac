"""Command line: `python -m benchmarks.arena run`, `ablate` and `page`."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
QUICK_ROWS = 1500
"""`--quick` takes tables up to this size."""


def main() -> None:
    """Parse the command line and run the command."""
    _set_threads()
    from benchmarks.arena.run import run_all
    from benchmarks.arena.tables import KINDS, all_tables

    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run what is missing")
    run.add_argument("--kind", choices=KINDS, nargs="*", default=list(KINDS))
    run.add_argument("--methods", nargs="*", help="names, or module:function; default all")
    run.add_argument("--not-methods", nargs="*", default=[], help="all but these")
    run.add_argument("--options", type=json.loads, help="JSON of arguments for the methods")
    run.add_argument("--label", help="store results under this name instead of the method's")
    ablate = commands.add_parser("ablate", help="the default with one ingredient changed")
    for command in (run, ablate):
        add = command.add_argument
        add("--tables", nargs="*", help="names; default all")
        add("--table-rows", type=int, nargs=2, help="tables of so many rows, from and to")
        add("--seeds", type=int, nargs="*", default=[0, 1, 2])
        add("--quick", action="store_true", help="small tables, seed 0")
        add("--max-rows", type=int, help="at most so many training rows")
        add("--limit", type=float, default=1800.0, help="seconds a run may take")
        add("--again", action="store_true", help="repeat stored runs too")
    page = commands.add_parser("page", help="write docs/arena.md")
    page.add_argument(
        "--ours", default="directgp", help="method or label that is compared with the others"
    )
    page.add_argument("--without-ours", action="store_true", help="also if it was never run")
    page.add_argument("--output", type=Path, help="instead of docs/arena.md")
    for command in (run, ablate, page):
        command.add_argument("--results", type=Path, default=RESULTS, help="folder of results")
    arguments = parser.parse_args()
    if arguments.command == "page":
        from benchmarks.arena.page import PAGE, write_page

        output = arguments.output or PAGE
        write_page(arguments.results, arguments.ours, output, without_ours=arguments.without_ours)
        return
    low, high = arguments.table_rows or (0, QUICK_ROWS if arguments.quick else 10**9)
    kinds = ["regression"] if arguments.command == "ablate" else arguments.kind
    tables = [
        table
        for table in all_tables()
        if table.kind in kinds
        and (arguments.tables is None or table.name in arguments.tables)
        and low <= table.rows <= high
    ]
    shared: dict[str, Any] = {
        "tables": sorted(tables, key=lambda table: table.rows),
        "seeds": [0] if arguments.quick else arguments.seeds,
        "folder": arguments.results,
        "max_rows": arguments.max_rows,
        "limit": arguments.limit,
        "again": arguments.again,
    }
    if arguments.command == "ablate":
        from benchmarks.arena.ablation import VARIANTS, method_of

        run_all(**shared, names=["directgp"])
        for label in VARIANTS:
            run_all(**shared, names=[method_of(label)], label=label)
        return
    run_all(
        **shared,
        names=arguments.methods,
        options=arguments.options,
        label=arguments.label,
        without=tuple(arguments.not_methods),
    )


def _set_threads() -> None:
    """Two threads for everybody; read by the libraries when they are imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "2"
    os.environ["OMP_WAIT_POLICY"] = "passive"  # threads that wait do not count as work


if __name__ == "__main__":
    main()
