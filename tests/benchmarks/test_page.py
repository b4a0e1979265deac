"""The page of the benchmarks: every section can be measured, is shown, and says of which commit."""

import ast
import json
from pathlib import Path

import pytest

from benchmarks.kept import Kept
from benchmarks.page import page
from benchmarks.sections import SECTIONS, SPEED
from benchmarks.targets import Target

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_has_a_function_and_words(name):
    section = SECTIONS[name]
    module, _, function = section.make.partition(":")
    tree = ast.parse((BENCHMARKS / f"{module}.py").read_text("utf-8"))  # peers may be missing
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert section.title and section.note.endswith(".")


def test_the_quick_sections_are_sections():
    assert set(SPEED) <= set(SECTIONS)
    titles = [section.title for section in SECTIONS.values()]
    assert len(set(titles)) == len(titles)


def written(folder: Path, name: str, commit: str, rows: list[dict]) -> None:
    machine = {"time": "2026-01-02T00:00:00", "commit": commit, "section seconds": 12.3}
    found = {"machine": machine, "tables": {name: rows}}
    (folder / f"{name}.json").write_text(json.dumps(found))


def test_the_page_says_of_which_commits_it_is_and_what_is_missing(tmp_path):
    written(tmp_path, "grid", "a" * 40, [{"data": "pol", "grid / fit": 1.25}])
    one = page(tmp_path)
    assert "All sections were measured at commit aaaaaaaa." in one and "Not measured: step" in one
    assert "## Choosing β" in one and "Measured on 2026-01-02 at aaaaaaaa in 12 s." in one
    assert "*grid / fit* must be at most 1.5: reached, 1.25 at worst." in one
    written(tmp_path, "classes", "b" * 40 + "+", [{"× GPyTorch, ELBO": 4.0}])
    two = page(tmp_path)
    assert "different commits (bbbbbbbb+: classes; aaaaaaaa: grid)" in two
    assert "*× GPyTorch, ELBO* must be at least 5: **missed** in 1 of 1 rows, 4 at worst." in two
    assert "*× GPyTorch, direct* must be at least 5: not measured." in two


def test_a_target_is_a_bound_on_the_rows_it_is_about():
    rows = [{"M": 20, "×": 6.0}, {"M": 300, "×": 2.0}, {"M": 500, "×": None}]
    assert "reached, 6 at worst" in Target("×", least=5.0, where={"M": (20,)}).sentence(rows)
    assert "**missed** in 1 of 2 rows" in Target("×", least=5.0).sentence(rows)
    assert "not measured" in Target("×", most=5.0, where={"M": (500,)}).sentence(rows)
    with pytest.raises(ValueError, match="least or most"):
        Target("×")


def test_finished_rows_are_of_the_same_commit(tmp_path):
    Kept("contest", tmp_path, "a" * 40).add({"data": "pol"})
    assert Kept("contest", tmp_path, "a" * 40).rows() == [{"data": "pol"}]
    assert Kept("contest", tmp_path, "b" * 40).rows() == []
    edited = Kept("contest", tmp_path, "a" * 40 + "+")
    edited.add({"data": "pol"})
    assert edited.rows() == [{"data": "pol"}]
    assert Kept("contest", tmp_path, "a" * 40 + "+").rows() == []
