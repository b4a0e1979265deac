"""A figure that costs nothing: jobs of a module of our own, and a spec for them."""

import textwrap

import pytest

from experiments.spec import load_specs
from experiments.store import Run

TOY = '''
import os
import signal
import time
from pathlib import Path

from experiments.execute import Outcome


def draw(record, folder):
    """A number that depends on the record alone; `folder` counts how often each was drawn."""
    with open(folder / "drawn.log", "a") as log:
        log.write(f"{record['seed']}\\n")
    time.sleep(record.get("seconds", 0.0))
    if record["seed"] in record.get("fails", []):
        raise RuntimeError("no luck\\nat all")
    if record["seed"] in record.get("kills", []) and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    value = (record["seed"] * 7919 % 101) / 101 + record["shift"]
    return Outcome({"value": value}, {"step": [1, 2], "value": [2 * value, value]})
'''
SPEC = """
title = "Numbers that were drawn"
figure = "none"
claim = "The low ones are lower."
differs = "Everything."
datasets = [{{ name = "dice", mark = "STAND-IN for dice" }}]
methods = [{{ name = "low", shift = 0 }}, {{ name = "high", shift = 2 }}]

[job]
kind = "toy_jobs:draw"
{job}

[quick]
seeds = {quick}

[full]
seeds = {full}

[[plots]]
draw = "bars"
y = "value"
ylabel = "value"

[[plots]]
draw = "curves"
x = "step"
y = "value"
xlabel = "step"
ylabel = "value"

[[claims]]
says = "Low is lower than high."
judge = "lower"
score = "value"
methods = ["low"]
than = ["high"]
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Write a spec of toy jobs; its folder of specs, and the folder that counts them."""
    (tmp_path / "toy_jobs.py").write_text(textwrap.dedent(TOY))
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(job="", quick=2, full=3):
        folder = tmp_path / "specs" / "toy"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "dice.toml").write_text(SPEC.format(job=job, quick=quick, full=full))
        # "dice" is no file: it is not read by these jobs, which draw.
        return load_specs(tmp_path / "specs")

    return make


@pytest.fixture
def run_of():
    """A finished run of a record."""

    def make(**record):
        scores = {"nll": float(record.pop("nll", 1.0))}
        return Run(record=record, scores=scores, paper="toy", figure="toy/dice", seconds=1.5)

    return make
