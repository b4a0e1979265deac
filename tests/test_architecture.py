"""docs/architecture.md describes the tree that is there."""

import ast
import re
from pathlib import Path

import pytest

from tests.test_layout import LEVELS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
HOPS = re.findall(r"^\| (\d+) \| `([\w/.]+)` `([\w.]+)` \|", PAGE, re.MULTILINE)


def names_in(path: Path) -> set[str]:
    """Functions and classes of a file, methods as Class.method."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found


@pytest.mark.parametrize(("number", "file", "name"), HOPS)
def test_every_hop_is_in_the_code(number, file, name):
    path = ROOT / "src" / "directgp" / file
    assert path.is_file(), f"hop {number}: there is no {file}"
    assert name in names_in(path), f"hop {number}: {file} has no {name}"


def test_the_walks_are_as_short_as_they_should_be():
    starts = [index for index, (number, *_) in enumerate(HOPS) if number == "1"]
    csv_to_file, estimator, step = (
        len(HOPS[first:last]) for first, last in zip(starts, [*starts[1:], len(HOPS)], strict=True)
    )
    assert csv_to_file <= 15 and estimator <= 12 and step <= 25


def test_the_picture_is_the_order_of_imports():
    (picture,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    drawn = [line[24:].split() for line in picture.splitlines()]
    assert drawn == [line.split() for line in reversed(LEVELS)]
