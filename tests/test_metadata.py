"""What the package says of itself: version, dependencies, citation, and only public names used."""

import ast
import functools
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import directgp

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "directgp"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OPTIONAL = {"gpjax", "numpyro", "tinygp"}
"""Imported only when asked for, with an error that names what to install."""
PRIVATE = {
    "jax._src.distributed.global_state": "drops the connection to a coordinator that has gone; "
    "jax.distributed.shutdown would end the process instead",
    "jax._src.xla_bridge.backends_are_initialized": "asks whether backends have started in the "
    "child of a fork; every public function about backends starts them",
}
"""Private names of other packages without a public alternative, with the reason of their use."""


def names_of(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=;~! ]", text)[0].lower() for text in requirements}


def third_party(path: Path) -> set[str]:
    """Full names of what a file imports from outside of directgp and the standard library."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    own = {*sys.stdlib_module_names, "directgp"}
    return {name for name in found if name.split(".")[0] not in own}


@functools.cache  # not when the file is imported: every worker does that
def imports() -> dict[Path, set[str]]:
    return {path: third_party(path) for path in sorted(SOURCE.rglob("*.py"))}


def test_the_version_is_one():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited and cited[1] == PROJECT["version"] == directgp.__version__


def test_every_import_is_a_declared_dependency_and_only_drawing_is_an_extra():
    distributions = packages_distributions()
    core = names_of(PROJECT["dependencies"])
    plots = names_of(PROJECT["optional-dependencies"]["plots"])
    used: dict[bool, set[str]] = {False: set(), True: set()}
    for path, names in imports().items():
        drawing = path.parent.name == "plots" or path.stem == "demo_picture"
        modules = {name.split(".")[0] for name in names} - OPTIONAL
        used[drawing] |= {distributions[module][0].lower() for module in modules}
    assert not used[False] - core, "add these to dependencies of pyproject.toml"
    assert not used[True] - core - plots
    loaded_by_jax = {"jaxlib"}
    assert core - used[False] == loaded_by_jax, "take these out of the core dependencies"


def test_no_private_name_of_another_package_is_imported():
    private = {name for names in imports().values() for name in names if "._" in name}
    assert private == set(PRIVATE)
