"""A small part of every attack, with the other tests; `make attack` runs all of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from directgp.persistence import savable
from directgp.persistence.classes import class_named, known_classes, name_of
from directgp.report.html import page
from tests.attack.load import Part, judge
from tests.attack.mutations import NAMES
from tests.attack.pages import fault_in_page
from tests.attack.result import Result
from tests.attack.tables import fault_in_predictions
from tests.attack.watch import watching

ROOT = Path(__file__).parents[2]


def run(*words: str, longest: float = 900.0) -> str:
    """What attacks print, in a process of their own: here beartype writes code of its own."""
    path = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH", "")]))
    ended = subprocess.run(
        [sys.executable, "-m", "tests.attack", *words, "--together"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path, "DIRECTGP_DATA": ""},
        timeout=longest,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_small_part_of_the_attacks_on_files_and_costs():
    # Names first: whatever a name could import, no other attack has imported yet.
    counts = ("class_names=140", "files=330", "costs=300", "extremes=160")
    said = run(*counts, "--few", "--seed", "1")
    assert re.search(r"^160 extremes .* bad: 0$", said, re.M)
    assert re.search(r"^330 files .* bad: 0$", said, re.M)
    assert re.search(r"^300 costs .* bad: 0$", said, re.M)
    assert re.search(r"^140 class_names .* bad: 0$", said, re.M)
    # Kinds whose checksum alone was put right never give another model.
    of_files = said[said.index(" sound model files:") :].splitlines()[2:11]
    names, *lines = (re.split(r"  +", line) for line in of_files)
    other = names.index("another model") if "another model" in names else None
    assert [line[1] for line in lines] == ["30"] * 8
    assert other is None or all(line[other] == "0" for line in lines[:7])


def test_a_small_part_of_the_attacks_by_tables_and_numbers():
    counts = {"tables": 28, "numbers": 30, "machine_code": 8, "counts": 2, "overconfidence": 2}
    said = run(*(f"{name}={count}" for name, count in counts.items()), "--few", "--seed", "1")
    for name, count in counts.items():
        assert re.search(rf"^{count} {name} .* bad: 0$", said, re.M)
    assert re.search(r"^all +28 +[1-9]\d* +[1-9]\d*$", said, re.M)  # some fitted, some refused


def test_a_small_part_of_the_attacks_by_forged_files_through_commands_and_by_small_tables():
    said = run("commands=6", "small_tables=12", "--few", "--seed", "1")
    assert re.search(r"^6 commands .* bad: 0$", said, re.M)
    assert re.search(r"^12 small_tables .* bad: 0$", said, re.M)
    assert re.search(r"^all +12 +[1-9]\d* +[1-9]\d*$", said, re.M)  # some sound, some refused


@pytest.mark.slow
def test_two_layers_learn_counts_to_a_million_at_the_cost_of_counts_to_a_hundred():
    """With `direct-pinball` and the negative binomial, whose cost once grew with the count."""
    said = run("counts=2", "--seed", "1", longest=1800.0)
    assert re.search(r"^direct-pinball, negative-binomial +2 +2$", said, re.M)
    assert re.search(r"^2 counts .* bad: 0$", said, re.M)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_small_part_of_the_attacks_by_processes():
    said = run("interruptions=16", "concurrency=3", "--few", "--seed", "1")
    assert re.search(r"^16 interruptions .* bad: 0$", said, re.M)
    assert re.search(r"^12 concurrency .* bad: 0$", said, re.M)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_ten_seconds_of_load_on_loopback():
    said = run("load=10", "--seed", "1")
    assert re.search(r"^\d\d+ load .* bad: 0$", said, re.M)
    assert re.search(r"^wrong rows +[1-9]\d* +[1-9]\d* +0$", said, re.M)  # all of them refused


def test_growth_and_slowdown_under_load_are_noticed():
    steady = Part(100, 1.0, 500 << 20)
    slower = Part(100, 2.0, 500 << 20)
    larger = Part(100, 1.0, 600 << 20)
    for last, faults in ((steady, []), (slower, ["speed"]), (larger, ["memory"])):
        result = Result()
        judge([*[steady] * 9, *[last] * 3], result)
        assert list(result.counts) == faults


def test_an_attack_that_is_not_known_is_refused():
    ended = subprocess.run(
        [sys.executable, "-m", "tests.attack", "everything"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert ended.returncode == 2 and "no attack 'everything'" in ended.stderr


HARMFUL = (
    "<script>alert(1)</script>", "<p onclick='x()'>", "<img src=x>", "<a href='http://x'>y</a>",
    "<!-- a -->", "</div>", "<iframe></iframe>", "<p>never ends",
)  # fmt: skip


def test_what_is_unescaped_in_a_page_is_found():
    assert fault_in_page(page("A <b>title", "", "<p>text</p>")) == ""
    for harmful in HARMFUL:
        assert fault_in_page(page("title", "", harmful)), harmful
    bare = page("title", "", "").replace("default-src 'none'", "default-src *")
    assert "a policy" in fault_in_page(bare)


def test_what_is_wrong_in_predictions_is_found(tmp_path):
    path = tmp_path / "p.csv"
    for row, fault in (
        ("1,2,0.5,1,2", ""),
        ("1,-2,0.5,1,2", "std below 0"),
        ("nan,2,0.5,1,2", "not finite"),
        ("1,2,2,1,0.5", "cross"),
    ):
        path.write_text(f"mean,std,q0.05,q0.5,q0.95\n{row}\n")
        assert fault in fault_in_predictions(path) and (fault or not fault_in_predictions(path))
    path.write_text("kept,predicted,p(a),p(b)\n=1+1,a,0.5,0.5\n")
    assert "a formula" in fault_in_predictions(path)


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
    with watching() as events:
        (tmp_path / "seen_by_the_watch.py").read_bytes()
        (tmp_path / "seen_by_the_watch.py").unlink()
    assert [event.split()[0] for event in events] == ["open", "os.remove"]


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
