"""Runs of the arena: every (table, seed, method) in its own process with two threads.

Seconds count from the start of that process: importing the method's library, encoding, fitting,
compiling and predicting; NumPy, pandas and scikit-learn are imported before for all methods.
CPU seconds are those of all its threads and hardly depend on other processes.
"""

from __future__ import annotations

import io
import multiprocessing
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import Empty
from typing import Any

import sklearn  # noqa: F401  (imported before runs are started, for all methods)

from benchmarks.arena import classification, counts, ours, regression
from benchmarks.arena.scores import row_losses, summary
from benchmarks.arena.store import read_runs, write_run
from benchmarks.arena.tables import Problem, Table, split

Method = Callable[[Problem], Any]
PEERS: dict[str, dict[str, Method]] = {
    "regression": regression.METHODS,
    "classification": classification.METHODS,
    "counts": counts.METHODS,
}
OURS: dict[str, Method] = {
    "regression": ours.regressor,
    "classification": ours.classifier,
    "counts": ours.count_regressor,
}


def methods_of(kind: str) -> dict[str, Method]:
    """All methods for a kind of target, this library's first."""
    return {"directgp": OURS[kind], **PEERS[kind]}


def method(kind: str, name: str, options: dict[str, Any]) -> Method:
    """A method by its name, or by `module:function` a function of a `Problem`."""
    if ":" in name:
        module, function = name.split(":")
        found = getattr(import_module(module), function)
    else:
        found = methods_of(kind)[name]
    return partial(found, **options) if options else found


def run_all(
    tables: list[Table],
    seeds: list[int],
    names: list[str] | None,
    folder: Path,
    *,
    max_rows: int | None = None,
    limit: float = 1800.0,
    options: dict[str, Any] | None = None,
    label: str | None = None,
    again: bool = False,
    without: tuple[str, ...] = (),
) -> None:
    """Run all missing (table, seed, method), table by table.

    Args:
        names: methods; None: all of each kind.
        max_rows: at most so many training rows; recorded with the run.
        limit: seconds after which a run is ended and recorded as failed.
        options: keyword arguments for the methods.
        label: stored as the name of the method, instead of its own.
        again: repeat stored runs too; the last result counts.
        without: names of methods to leave out.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the current run, too
    for seed in seeds:
        for table in tables:
            for name in names or list(methods_of(table.kind)):
                known = ":" in name or name in methods_of(table.kind)
                if not known or name in without:
                    continue
                key = (table.kind, table.name, seed, label or name)
                if again or key not in read_runs(folder):
                    call = method(table.kind, name, options or {})
                    line, losses = _run_apart(table, seed, call, max_rows, limit)
                    line = {**dict(zip(_KEYS, key, strict=True)), **line}
                    write_run(folder, line, losses)
                    print(_one_line(line), flush=True)


_KEYS = ("kind", "table", "seed", "method")


def _one_line(line: dict) -> str:
    if "failure" in line:
        what = line["failure"].splitlines()[-1]
    else:
        names = ("nll", "crps", "rmse", "coverage", "brier", "error", "ece")
        what = " ".join(f"{name} {line[name]:.3f}" for name in names if name in line)
    head = f"{line['table']:>20} {line['seed']} {line['method']:<14} {line['seconds']:7.1f} s"
    return f"{head} {line['cpu_seconds'] or 0:7.1f} cpu  {what}"


def _run_apart(
    table: Table, seed: int, call: Method, max_rows: int | None, limit: float
) -> tuple[dict, dict | None]:
    problem, y_test = split(table, seed, max_rows)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_run_here, args=(call, problem, y_test, answers))
    child.start()
    try:
        line, losses = _answer(child, answers, limit)
    finally:
        child.kill()  # does nothing if it has ended
    child.join()
    rows = {"train_rows": len(problem.y), "test_rows": len(y_test), "max_rows": max_rows}
    return {**line, **rows, "commit": library_commit()}, losses


def _answer(child: Any, answers: Any, limit: float) -> tuple[dict, dict | None]:
    """The result that the process of a run put into its queue, or its failure."""
    began = time.perf_counter()
    while True:
        ended = not child.is_alive()  # before the last look into the queue
        try:
            return answers.get(timeout=0.5)
        except Empty:
            seconds = time.perf_counter() - began
            if seconds > limit:
                failure = f"ended after {limit:.0f} s"
            elif ended:
                failure = f"the process ended with code {child.exitcode}"
            else:
                continue
            return {"failure": failure, "seconds": seconds, "cpu_seconds": None}, None


def _run_here(call: Method, problem: Problem, y_test, answers) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    began, cpu = time.perf_counter(), time.process_time()
    warnings.simplefilter("ignore")
    try:
        with redirect_stdout(io.StringIO()):
            predicted = call(problem)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        losses = row_losses(problem, predicted, y_test)
        line = summary(losses)
    except Exception:
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        line, losses = {"failure": traceback.format_exc(limit=-3)}, None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answers.put(({**line, "seconds": seconds, "cpu_seconds": cpu, "mib": round(peak)}, losses))


def library_commit() -> str:
    """The commit of the checkout that `directgp` is imported from, `+` if edited, or ""."""
    from importlib.util import find_spec

    spec = find_spec("directgp")
    folder = Path(spec.origin).parent if spec and spec.origin else Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--porcelain", "."))
