"""The attack by forged model files through the commands: every text in a file reaches a user.

Files that `directgp fit` and `calibrate` write (stacks of numbers, of log targets, of classes and
of counts, one GP, an exact classifier; means of the target by level, dates, calibration by group,
costs) are altered with both checksums put right, and then inspected, evaluated with a report,
calibrated, and used to predict and decide. A command does its work or ends in one line.
"""

import contextlib
import io
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directgp.cli.app import run
from directgp.tables import write_table
from tests.attack.forge import Pieces
from tests.attack.model_files import BAIT
from tests.attack.mutations import arrays, reworded, reworded_texts
from tests.attack.pages import fault_in_page
from tests.attack.result import Result, Tell, silent

DONE, REFUSED = "done", "refused"
ROWS = 80
_SLOWEST = 60.0
_GP = ("--beta", "1", "--max-steps", "3", "--num-inducing", "4")
_COST = 'kind = "binary"\nfalse_positive = 1\nfalse_negative = 5\npositive = "yes"\n'
_NUMBERS_COST = 'kind = "newsvendor"\nunder = 4\nover = 1\n'
_ALTERED = {"texts within": reworded_texts, "JSON": reworded, "arrays": arrays}


class Made(NamedTuple):
    """A sound file and the table it was fitted to."""

    name: str
    data: bytes
    table: Path


def attack(count: int, seed: int = 0, tell: Tell = silent, few: bool = False) -> Result:
    """Forge `count` files, of all kinds (or two) in turn, and give each to all commands."""
    result = Result()
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_STATE_HOME"] = place  # of logs of internal errors
        folder = Path(place)
        made = sound_files(folder, few=few)
        tell(", ".join(f"{each.name} ({len(each.data)} bytes)" for each in made))
        for each in made:
            fault = _outcome(each.data, each, folder)
            assert fault == DONE, f"{each.name}: {fault}"
        ways = list(_ALTERED.items())
        bait = folder / "importable"  # so that an import would find what a file names
        bait.mkdir()
        (bait / "attack_bait.py").write_text(BAIT)
        sys.path.insert(0, str(bait))
        for number in range(count):
            each = made[number // len(ways) % len(made)]
            way, alter = ways[number % len(ways)]
            rng = np.random.default_rng([seed, number])
            forged = alter(rng, Pieces.of(each.data)).packed(True)
            with result.timed() as took:
                outcome = _outcome(forged, each, folder)
            if took.processor > _SLOWEST:
                outcome = f"it took {took.processor:.0f} s of processor time"
            said = outcome if outcome in (DONE, REFUSED) else f"number {number}: {outcome}"
            result.add(f"{each.name}, {way}", said, (DONE, REFUSED), tell)
            if number % 100 == 99:
                tell(f"{number + 1} files, {len(result.bad)} bad")
        sys.path.remove(str(bait))
    return result


def _table(rng: np.random.Generator) -> dict[str, Any]:
    size = rng.normal(size=ROWS).round(3)
    return {
        "size": [None if k == 3 else v for k, v in enumerate(size.tolist())],
        "kind": rng.choice(["flat", "house", "barn"], ROWS).tolist(),
        "street": [f"s{k}" for k in rng.integers(0, 60, ROWS)],
        "day": [f"2024-01-{k % 28 + 1:02d}" for k in range(ROWS)],
        "price": np.exp(2 * size + 0.5 * rng.normal(size=ROWS)).round(4).tolist(),
        "sold": np.where(size + 0.3 * rng.normal(size=ROWS) > 0, "yes", "no").tolist(),
        "views": rng.poisson(np.exp(size + 1)).tolist(),
        "change": (size + 0.2 * rng.normal(size=ROWS)).round(4).tolist(),
    }


def sound_files(folder: Path, *, few: bool = False) -> list[Made]:
    """What `directgp fit` and `directgp calibrate` write; few: stacks that compile nothing."""
    drawn = _table(np.random.default_rng(0))
    cost = folder / "cost.toml"
    cost.write_text(_COST)
    (folder / "numbers.toml").write_text(_NUMBERS_COST)
    inputs = ("size", "kind", "street", "day")
    kinds: dict[str, tuple[str, tuple[str, ...]]] = {
        "stack": ("change", ()),
        "stack of a log target": ("price", ("--missing", "mean")),
        "stack of classes": ("sold", ()),
        "stack of counts": ("views", ("--task", "counts")),
        "one GP for a cost": ("sold", ("--cost", str(cost), *_GP)),
        "exact classifier": ("sold", ("--inference", "laplace")),
    }
    if few:
        kinds = {name: kinds[name] for name in ("stack", "stack of classes")}
    found = []
    for name, (target, options) in kinds.items():
        own = {column: drawn[column] for column in (*inputs, target)}
        table, model = folder / f"{target}.csv", folder / "model.dgp"
        more = folder / f"more {target}.csv"
        write_table(table, own)
        write_table(more, _altered_rows(own))
        _must("fit", str(table), "-t", target, "-o", str(model), *options, "--quiet")
        by = () if name == "stack of classes" else ("--group", "kind")
        calibrated = folder / "calibrated.dgp"
        _must("calibrate", str(model), str(more), "-o", str(calibrated), *by, "--quiet")
        found.append(Made(name, calibrated.read_bytes(), more))
    return found


def _altered_rows(columns: dict[str, Any]) -> dict[str, Any]:
    """Rows like the others that were not trained on."""
    return columns | {"size": [None if v is None else v + 0.01 for v in columns["size"]]}


def _must(*words: str) -> None:
    code, _, said = called(*words)
    assert code == 0, f"{words}: {said}"


def called(*words: str) -> tuple[int, str, str]:
    """The exit code of a command, and what it said on stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    out.buffer = io.BytesIO()  # pyright: ignore[reportAttributeAccessIssue]  rows go there
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("ignore")
        return run([*words]), out.getvalue(), err.getvalue()


def _outcome(data: bytes, made: Made, folder: Path) -> str:
    """One of the allowed outcomes, or in words what happened instead."""
    model, page, table = folder / "forged.dgp", folder / "page.html", str(made.table)
    model.write_bytes(data)
    page.unlink(missing_ok=True)
    cost = "cost.toml" if "class" in made.name or "cost" in made.name else "numbers.toml"
    own = () if made.name == "one GP for a cost" else ("--cost", str(folder / cost))
    commands: tuple[tuple[str, ...], ...] = (
        ("inspect", str(model)),
        ("inspect", str(model), "--json"),
        ("evaluate", str(model), table, "--report", str(page)),
        ("predict", str(model), table, "-o", str(folder / "p.csv"), "--keep", "kind"),
        ("decide", str(model), table, *own, "-o", str(folder / "d.csv")),
        ("calibrate", str(model), table, "-o", str(folder / "again.dgp")),
    )
    outcomes = []
    for words in commands:
        code, out, err = called(*words)
        outcomes.append(code)
        fault = _fault(words[0], code, out, err)
        if sys.modules.pop("attack_bait", None) is not None:
            fault = f"{words[0]} had a module imported"
        if fault:
            return fault
    if page.exists():
        fault = fault_in_page(page.read_text("utf-8"))
        if fault:
            return f"the report has {fault}"
    return DONE if not any(outcomes) else REFUSED


def _fault(command: str, code: int, out: str, err: str) -> str:
    """What is wrong with what a command said; nothing if all is well."""
    lines = err.splitlines()
    strange = [c for c in (*out, *err) if not c.isprintable() and c not in "\n\t\u200d"]
    if strange:
        return f"{command} printed {strange[0]!r}"
    if code == 0:
        return ""
    one = code == 2 and lines and lines[-1].startswith("error: ") and len(lines[-1]) < 1500
    only = all(not line.startswith(("error", "internal")) for line in lines[:-1])
    return "" if one and only else f"{command} ended with {code}: {err[-400:]!r}"
