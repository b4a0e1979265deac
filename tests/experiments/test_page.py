"""Pages and pictures say what the store says, all of it and nothing else."""

import re
from pathlib import Path

import pytest

from experiments.figure_rows import evidence, summarised
from experiments.figure_section import figure_sections
from experiments.gallery import write_gallery
from experiments.page import write_page
from experiments.runner import run
from experiments.scheduler import InProcess
from experiments.spec import load_specs
from experiments.store import Store
from experiments.transfer import load

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def told(toy, tmp_path):
    """A store with the quick runs of the toy figure, and its spec."""
    spec = toy(quick=3, full=5)["toy/dice"]
    with Store(tmp_path / "s.sqlite") as store:
        run([spec], "quick", store, InProcess(), tmp_path)
        yield spec, store


def test_the_page_has_claim_verdict_numbers_pictures_and_marks(told, tmp_path):
    spec, store = told
    text = write_page(figure_sections([spec], store), tmp_path).read_text("utf-8")
    assert spec.claim in text and spec.differs in text and "STAND-IN for dice" in text
    assert "6 of the 6 runs of the quick setting, 3 seeds" in text
    assert "**Verdict: ✔ reproduced** (claims: 1 reproduced)." in text and "lower in 1 of 1" in text
    # Seeds 0, 1, 2 of method low: 0, 41/101 and 82/101.
    assert "0.41 ± 0.23" in text and "2.41 ± 0.23" in text
    for picture in re.findall(r"\]\((images/[^)]+)\)", text):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    assert text.count("images/reproduction/toy-dice") == 2


def test_the_same_store_gives_the_same_bytes(told, tmp_path):
    spec, store = told
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        write_page(figure_sections([spec], store), folder)
    files = sorted(path.relative_to(first) for path in first.rglob("*.*"))
    assert len(files) == 3
    assert all((first / path).read_bytes() == (second / path).read_bytes() for path in files)


def test_the_page_of_this_repository_is_what_its_runs_give(tmp_path, monkeypatch):
    """No number there that is not in the exported runs, and none out of date."""
    monkeypatch.setattr("experiments.page.png", lambda _figure: b"")
    with Store(tmp_path / "s.sqlite") as store:
        for path in sorted((REPOSITORY / "experiments" / "results").glob("*.jsonl")):
            assert store.add_all(load(path)) > 0
        text = write_page(figure_sections(load_specs().values(), store), tmp_path).read_text(
            "utf-8"
        )
    assert text == (REPOSITORY / "docs" / "reproduction.md").read_text("utf-8")


def test_what_was_not_run_is_said_to_be_so(toy, tmp_path):
    specs = list(toy().values())
    with Store(tmp_path / "empty.sqlite") as store:
        sections = figure_sections(specs, store)
        text = write_page(sections, tmp_path).read_text("utf-8")
        page = write_gallery(sections, tmp_path).read_text("utf-8")
    assert "Not run." in text and "– not run" in text and "images/" not in text.split("## ")[1]
    assert "not run" in page and "<img" not in page


def test_more_runs_of_the_same_settings_are_shown_as_they_come(told, tmp_path):
    spec, store = told
    assert evidence(spec, store).tier == "quick"
    one = next(cell for cell in spec.cells("full") if cell.labels["seed"] == 4)
    full = [planned for planned in spec.cells("full") if planned == one]
    assert full
    run([spec], "full", store, InProcess(), tmp_path)
    found = evidence(spec, store)
    assert found.tier == "full" and found.complete and found.found == 10
    assert summarised(found.rows, ["method"], "value")[("low",)][2] == 5


def test_tiers_with_settings_of_their_own_are_not_mixed(toy, tmp_path):
    text = toy(quick=2, full=3)["toy/dice"]
    spec = text.__class__(**{**vars(text), "full": {"seeds": 3, "job": {"seconds": 0}}})
    with Store(tmp_path / "s.sqlite") as store:
        run([spec], "quick", store, InProcess(), tmp_path)
        assert evidence(spec, store).tier == "quick"
        run([spec], "full", store, InProcess(), tmp_path)
        assert evidence(spec, store).tier == "full" and evidence(spec, store).found == 6


def test_settings_of_the_paper_replace_quick_ones_once_they_have_all_their_cases(toy, tmp_path):
    plain = toy(quick=2, full=3)["toy/dice"]
    larger = {"seeds": 3, "job": {"seconds": 0}, "vary": {"shift_by": [1, 2]}}
    spec = plain.__class__(**{**vars(plain), "vary": {"shift_by": [1]}, "full": larger})

    def run_full(**only):
        run([spec], "full", store, InProcess(), tmp_path, only=only)
        return evidence(spec, store)

    with Store(tmp_path / "s.sqlite") as store:
        assert not run_full(shift_by={"1"}, seed={"0"}).enough, "one seed where two are quick"
        assert run_full(shift_by={"2"}, seed={"1"}).tier == "quick", "a case that is not quick"
        found = run_full(shift_by={"1"}, seed={"0", "1"}, method={"low"})
        assert found.tier == "quick", "of one method only"
        found = run_full(shift_by={"1"}, seed={"0", "1"})
        assert (found.tier, found.enough, found.found, found.planned) == ("full", True, 6, 12)
        text = write_page(figure_sections([spec], store), tmp_path).read_text("utf-8")
        assert "6 of the 12 runs of the full setting (seconds 0)" in text
        assert re.search(r"Verdict: . \w+\*\* \(claims: 1 \w+; so far, by 6 of 12 runs\)\.", text)
        assert "6/12 full" in text and "4/4 quick" not in text
        run([spec], "quick", store, InProcess(), tmp_path)
        assert evidence(spec, store).tier == "full", "quick runs add nothing to it"


def test_the_gallery_is_one_file_with_everything_in_it(told, tmp_path):
    spec, store = told
    text = write_gallery(figure_sections([spec], store), tmp_path).read_text("utf-8")
    assert text.count("data:image/png;base64,") == 2 and spec.claim in text
    assert "0.41 ±&nbsp;0.23" in text and "STAND-IN for dice" in text
    assert not re.search(r'(?:src|href)="(?!data:)', text)
