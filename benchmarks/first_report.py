"""Time of a first use by steps, from the clone to a report on 20,000 rows.

`python -m benchmarks --only first-report` clones this repository into a temporary folder, runs
`make setup` there and then the command line on cadata, each as in a first use, with no cache
of compiled programs. The time of the first step depends on where pip gets the packages.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.quality import data_folder
from benchmarks.timing import Contention, wait_until_quiet

ROOT = Path(__file__).resolve().parents[1]


def first_report_rows(wait: float = 60.0) -> list[dict]:
    """Seconds of each step and since the beginning."""
    data = data_folder() / "cadata.parquet"
    wait_until_quiet(wait)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = str(folder / "directgp" / ".venv" / "bin" / "directgp")
        model, page = str(folder / "model.dgp"), str(folder / "report.html")
        steps = {
            "git clone": ["git", "clone", "-q", str(ROOT), "directgp"],
            "make setup": ["make", "-s", "-C", "directgp", "setup"],
            "directgp fit": [program, "fit", str(data), "-o", model, "-q"],
            "directgp evaluate --report": [
                program, "evaluate", model, str(data), "--report", page, "-q",
            ],
        }  # fmt: skip
        outside = ("PYTHONPATH", "VIRTUAL_ENV", "JAX_COMPILATION_CACHE_DIR")
        environment = {k: v for k, v in os.environ.items() if k not in outside}
        environment["DIRECTGP_COMPILE_CACHE"] = str(folder / "programs")
        began, rows = time.monotonic(), []
        for step, command in steps.items():
            start = time.monotonic()
            with Contention() as others:
                subprocess.run(command, cwd=folder, env=environment, check=True)
            now = time.monotonic()
            rows.append(
                {
                    "step": step,
                    "seconds": now - start,
                    "since the beginning": now - began,
                    "other cores busy": others.cores,
                }
            )
            print(rows[-1], flush=True)
        assert Path(page).stat().st_size > 0
    return rows
