"""The documentation is true: its code runs, links lead somewhere, public names are explained."""

import importlib
import inspect
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import directgp
from directgp.cli.app import run
from directgp.decisions import costs
from directgp.tables import write_table
from experiments.commands.app import run as run_experiments

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _name(page):
    return str(page.relative_to(REPOSITORY))


WITH_CODE = [page for page in PAGES if _BLOCK.search(page.read_text("utf-8"))]


@pytest.fixture
def clean_registries(monkeypatch):
    """What a page registers is forgotten after it."""
    parts = ("likelihoods", "losses", "divergences", "kernels", "expectations")
    for registry in (*(getattr(getattr(directgp, part), part) for part in parts), costs):
        monkeypatch.setattr(registry, "_parts", dict(registry._parts))


@pytest.mark.float32_default  # as a user runs it: JAX's own default, warnings are errors
@pytest.mark.parametrize("page", WITH_CODE, ids=_name)
def test_the_code_of_a_page_runs(page, clean_registries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    """Block after block in one namespace: an assert, an error or a warning there fails."""
    text, namespace = page.read_text("utf-8"), {"__name__": "page"}
    blocks = list(_BLOCK.finditer(text))
    assert len(blocks) == text.count("```python\n")
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(page), "exec"), namespace)


_APPLICATIONS = {"directgp ": run, "python -m experiments ": run_experiments}


def _commands(page):
    lines = (
        line for block in _SHELL.findall(page.read_text("utf-8")) for line in block.split("\n")
    )
    return [line for line in lines if line.startswith(tuple(_APPLICATIONS))]


def _run_line(line):
    """Run a line of a page here, shortened; the exit code."""
    name = next(name for name in _APPLICATIONS if line.startswith(name))
    arguments = shlex.split(line.removeprefix(name), comments=True)
    shorter = ["--max-steps", "5"] if "--inference" in arguments else _SHORTER.get(arguments[0], [])
    return _APPLICATIONS[name]([*arguments, *shorter])


_SHORTER = {
    "fit": ["--max-steps", "40", "--beta", "1"],
    "compare": ["--max-steps", "40", "--models", "elbo,direct"],
    "demo": ["--quick"],
    "combinations": ["--seconds", "0"],
}
"""What is added to the commands of a page so that running them is a test and not a training."""


@pytest.fixture
def houses(tmp_path):
    """What pages speak of: houses.csv to learn from, new.csv to predict, cost.toml to decide by."""
    cost = 'kind = "binary"\nfalse_positive = 1\nfalse_negative = 20\npositive = "yes"\n'
    (tmp_path / "cost.toml").write_text(cost)
    rng = np.random.default_rng(0)
    size = rng.uniform(30, 200, 120).round(1)
    kind = rng.choice(["flat", "house"], 120)
    table = {
        "id": np.arange(120),
        "size": size,
        "kind": kind,
        "rooms": rng.poisson(size / 25),
        "sold": np.where(size > 100, "yes", "no"),
        "price": 2000.5 * size + 5000 * rng.standard_normal(120),
    }
    write_table(tmp_path / "houses.csv", table)
    write_table(tmp_path / "new.csv", {k: v[:7] for k, v in table.items() if k != "price"})


@pytest.fixture
def checkout(tmp_path):
    """A copy of what commands that are given at the root of the repository find there."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "experiments", tmp_path / "experiments", ignore=ignored)
    (tmp_path / "docs").mkdir()


@pytest.mark.float32_default
@pytest.mark.parametrize("page", [page for page in PAGES if _commands(page)], ids=_name)
def test_the_commands_of_a_page_run(page, houses, checkout, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for line in _commands(page):
        assert _run_line(line) == 0, f"{line}: {capsys.readouterr().err}"


def test_the_page_of_the_command_line_runs_every_command():
    lines = _commands(REPOSITORY / "docs" / "command_line.md")
    assert {line.split()[1] for line in lines} == {
        "fit", "evaluate", "predict", "calibrate", "decide", "compare", "inspect", "demo"
    }  # fmt: skip


def test_the_page_of_the_experiments_runs_every_command_that_needs_no_data():
    lines = _commands(REPOSITORY / "docs" / "reproducing.md")
    assert {line.split()[3] for line in lines} == {"list", "results", "page"}


def test_the_navigation_of_the_site_holds_every_page():
    nav = (REPOSITORY / "mkdocs.yml").read_text("utf-8").split("nav:")[1]
    for page in (REPOSITORY / "docs").rglob("*.md"):
        assert str(page.relative_to(REPOSITORY / "docs")) in nav


def test_the_pages_that_promise_code_have_it():
    names = {_name(page) for page in WITH_CODE}
    assert {
        "README.md",
        "docs/how_it_works.md",
        "docs/adding_a_likelihood.md",
        "docs/adding_a_loss.md",
        "docs/adding_a_divergence.md",
        "docs/adding_a_kernel.md",
        "docs/adding_a_cost.md",
        "docs/adding_a_model_spec.md",
    } <= names


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_relative_links_lead_to_files(page):
    text = _FENCED.sub("", page.read_text("utf-8"))
    targets = [link.split("#")[0] for link in _LINK.findall(text) if "://" not in link]
    missing = [target for target in targets if target and not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", [*PAGES, REPOSITORY / "SECURITY.md"], ids=_name)
def test_pages_hold_no_placeholder(page):
    """A word such as NUMBERS_SEEN or TODO stands for something that was never written."""
    prose = re.sub(r"`[^`\n]*`", "", _FENCED.sub("", page.read_text("utf-8")))
    assert re.findall(r"\b(?:[A-Z]+_SEEN|TODO|TBD|FIXME|XXX)\b", prose) == []


def test_every_attack_is_on_the_page_of_trust():
    from tests.attack.__main__ import ATTACKS

    page = (REPOSITORY / "docs" / "trust.md").read_text("utf-8")
    files = {"files": "model_files"}
    missing = [name for name in ATTACKS if f"tests/attack/{files.get(name, name)}.py" not in page]
    assert missing == []


def test_every_page_can_be_reached_from_the_readme():
    reached, queue = set(), [REPOSITORY / "README.md"]
    while queue:
        page = queue.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for link in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))):
            if "://" not in link:
                queue.append((page.parent / link.split("#")[0]).resolve())
    assert set(PAGES) <= reached


@pytest.mark.parametrize("name", directgp.__all__)
def test_public_names_have_a_docstring(name):
    thing = getattr(directgp, name)
    assert thing.__doc__ and thing.__doc__.strip()
    assert not re.fullmatch(rf"{name}\(.*: .*\)", thing.__doc__, re.DOTALL)  # a dataclass's own


def _entry_points():
    """Public functions, and the classes that a user starts with."""
    starts = {"GPClassifier", "GPRegressor", "FittedGP", "TablePredictor"}
    named = ((name, getattr(directgp, name)) for name in directgp.__all__)
    return [name for name, thing in named if inspect.isfunction(thing) or name in starts]


@pytest.mark.parametrize("name", _entry_points())
def test_the_reference_holds_whatever_a_user_starts_with(name):
    page = (REPOSITORY / "docs" / "api.md").read_text("utf-8")
    shown = set(re.findall(r"^::: (\S+)$", page, re.MULTILINE))
    module = inspect.unwrap(getattr(directgp, name)).__module__
    assert {module, f"{module}.{name}"} & shown


def test_the_reference_names_only_what_there_is():
    page = (REPOSITORY / "docs" / "api.md").read_text("utf-8")
    for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
        module, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), last), name


def test_the_glossary_names_files_that_exist():
    page = (REPOSITORY / "docs" / "glossary.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+(?:\.py|/))`", page)
    assert len(named) > 15
    source = REPOSITORY / "src" / "directgp"
    assert [name for name in named if not (source / name).exists()] == []
    score = next(line for line in page.splitlines() if line.startswith("| **score**"))
    assert {"log", "square", "CRPS", "pinball", "cost"} <= set(re.findall(r"\w+", score))


def test_the_first_page_leads_to_those_for_practitioners():
    links = _LINK.findall((REPOSITORY / "docs" / "index.md").read_text("utf-8"))
    assert {"estimators.md", "tables.md", "command_line.md"} <= set(links)


def test_make_docs_runs_the_code_of_the_pages():
    recipe = re.search(r"^docs:.*\n\t(.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)[1]
    assert "tests/test_docs.py" in recipe and " src experiments " in recipe
