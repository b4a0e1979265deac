"""A small part of every attack, with the other tests; `make attack` runs all of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from directgp.persistence import savable
from directgp.persistence.classes import class_named, known_classes, name_of
from tests.attack.mutations import NAMES
from tests.attack.watch import watching

ROOT = Path(__file__).parents[2]


def test_a_small_part_of_the_attacks():
    """In a process of its own: here beartype writes code for every function that is called."""
    path = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH", "")]))
    small = ["--few", "--files", "330", "--costs", "300", "--seed", "1"]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.attack", *small],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"^330 files .* bad: 0$", ended.stdout, re.M)
    assert re.search(r"^300 costs .* bad: 0$", ended.stdout, re.M)
    # Kinds whose checksum alone was put right never give another model.
    names, *lines = (re.split(r"  +", line) for line in ended.stdout.splitlines()[2:11])
    other = names.index("another model") if "another model" in names else None
    assert [line[1] for line in lines] == ["30"] * 8
    assert other is None or all(line[other] == "0" for line in lines[:7])


def test_the_watch_sees_imports_and_code(tmp_path, monkeypatch):
    (tmp_path / "seen_by_the_watch.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with watching() as events:
        import seen_by_the_watch  # noqa: F401  # pyright: ignore
    assert any("import ('seen_by_the_watch'" in event for event in events)
    assert any(event.startswith("exec") for event in events)
    del sys.modules["seen_by_the_watch"]
    with watching() as events:
        eval("1 + 1")
    assert events


def test_the_classes_of_a_file_are_a_closed_list():
    known = known_classes()
    assert {"RBF", "SparseGP", "FittedGP", "Gaussian", "BinaryCost", "CalibratedScale"} <= set(
        known
    )
    for name, cls in known.items():
        assert name_of(cls) == name and class_named(name) is cls
        assert cls.__module__.split(".")[0] in ("directgp", "paramax")
    for name in NAMES:
        assert class_named(name) is None
    assert class_named("directgp.somewhere.else.RBF") is known["RBF"]  # the first format
    for odd in (None, 3, ["RBF"], {"RBF": 1}):
        assert class_named(odd) is None
    with pytest.raises(TypeError, match="savable takes"):
        savable(int)
