"""The attack by tables: each is fitted, judged and predicted, or refused in one line."""

import contextlib
import csv
import io
import os
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np

from directgp.cli.app import run
from tests.attack.browser import browser, complaints
from tests.attack.hostile_tables import Hostile, hostile
from tests.attack.pages import fault_in_page
from tests.attack.result import Result, Tell, peak_memory, silent

FITTED, REFUSED = "fitted", "refused"
_AT_ONCE = 20
"""Reports that a browser is shown together."""
_SLOWEST = 60.0
_MOST_MEMORY = 2 << 30
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Fit `count` hostile tables, with a report and predictions of each that can be fitted."""
    result, pages = Result(), Pages(tell)
    before = peak_memory()
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_STATE_HOME"] = place  # of logs of internal errors
        for number in range(count):
            table = hostile(number, seed)
            folder = Path(place) / str(number)
            folder.mkdir()
            with result.timed() as took:
                outcome = _outcome(table, folder, pages)
            if took.processor > _SLOWEST:
                outcome = f"it took {took.processor:.0f} s of processor time"
            said = outcome if outcome in (FITTED, REFUSED) else f"number {number}: {outcome}"
            result.add(table.kind, said, (FITTED, REFUSED), tell)
            for path in folder.iterdir():
                path.unlink()
            if number % 100 == 99:
                tell(f"{number + 1} tables, {len(result.bad)} bad")
    pages.look()
    for fault in pages.faults:
        result.add("pages in a browser", fault, (), tell)
    tell(f"{pages.seen} reports were shown by a browser")
    result.memory = peak_memory() - before
    if result.memory > _MOST_MEMORY:
        result.add("memory", f"the process has grown by {result.memory >> 20} MiB", (), tell)
    return result


class Pages:
    """Reports that a browser is shown, if there is one, several at a time."""

    def __init__(self, tell: Tell = silent):
        self.waiting: list[str] = []
        self.faults: list[str] = []
        self.seen = 0
        if browser() is None:
            tell("there is no Chromium here; reports are only parsed")

    def add(self, page: str) -> None:
        """One more."""
        self.waiting.append(page)
        if len(self.waiting) == _AT_ONCE:
            self.look()

    def look(self) -> None:
        """Show those that wait; what the browser complains about is a fault."""
        if self.waiting and browser() is not None:
            self.faults += complaints(self.waiting)
            self.seen += len(self.waiting)
        self.waiting = []


def _outcome(table: Hostile, folder: Path, pages: Pages) -> str:
    """One of the allowed outcomes, or in words what happened instead."""
    data, model, page = folder / table.name, folder / "m.dgp", folder / "r.html"
    data.write_bytes(table.data)
    target = [] if not table.target else [f"--target={table.target}"]
    code, said = called("fit", str(data), *target, "-o", str(model), "--quiet")
    if code:
        left = sorted(path.name for path in folder.iterdir() if path != data)
        return _refused("fit", code, said) or (f"it left {left}" if left else REFUSED)
    code, said = called("evaluate", str(model), str(data), "--report", str(page), "--quiet")
    fault = _refused("evaluate", code, said) if code else fault_in_page(page.read_text("utf-8"))
    if fault:
        return fault
    if not code:
        pages.add(page.read_text("utf-8"))
    made = folder / ("p.csv" if len(table.data) % 2 else "p.tsv")
    keep = [f"--keep={table.keep}"] if table.keep else []
    code, said = called("predict", str(model), str(data), "-o", str(made), "--quiet", *keep)
    if code:
        return _refused("predict", code, said) or REFUSED
    return fault_in_predictions(made) or FITTED


def called(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it said on stderr."""
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("ignore")
        return run([*arguments]), err.getvalue()


def _refused(command: str, code: int, said: str) -> str:
    """What is wrong with a refusal; nothing if it is one line and exit code 2."""
    lines = said.splitlines()
    if code == 2 and len(lines) == 1 and lines[0].startswith("error: ") and len(said) < 1500:
        return "" if lines[0].isprintable() else f"{command}: control characters in {said!r}"
    return f"{command} ended with {code}: {said[:400]!r}"


def fault_in_predictions(path: Path) -> str:
    """A formula, or a number that is none, in a file of predictions."""
    delimiter = "\t" if path.suffix == ".tsv" else ","
    csv.field_size_limit(1 << 30)
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file, delimiter=delimiter)
    for row in (names, *rows):
        for cell in row:
            if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
                return f"a formula in {os.path.basename(path)}: {cell[:50]!r}"
    made = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    if "predicted" in made and names[-1].startswith("p("):
        first = names.index("predicted") + 1
        shares = np.array([row[first:] for row in rows], float)
        sound = (shares >= 0).all() and np.allclose(shares.sum(axis=1), 1)
        return "" if sound else "probabilities that are none"
    last = np.array([row[-5:] for row in rows], float)  # mean, std, three quantiles
    if not np.isfinite(last).all():
        return "predictions that are not finite"
    ordered = (np.diff(last[:, 2:], axis=1) >= 0).all()
    return "" if ordered and (last[:, 1] >= 0).all() else "quantiles that cross, or std below 0"
