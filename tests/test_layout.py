"""The layout of src/directgp: folders import only from those below them, and never in a circle."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "directgp"
LEVELS = [
    "version errors registry parameters marginals atomic_write",
    "linalg",
    "predictive",
    "kernels",
    "divergences",
    "likelihoods",
    "expectations",
    "losses",
    "models",
    "objective",
    "collapsed",
    "metrics",
    "calibration",
    "distributed",
    "tables",
    "training",
    "exact",
    "fitting",
    "decisions",
    "theory",
    "persistence",
    "plots",
    "estimators report",
    "cli",
    "api",
]
"""From the bottom to the top (docs/decisions/0015). A name may import those of its own line."""
LEVEL = {name: number for number, names in enumerate(LEVELS) for name in names.split()}
MOST_AT_THE_ROOT = 8


class Import(NamedTuple):
    """One import of a module of directgp: where it stands, and whether it runs at start."""

    importer: str
    imported: str
    line: int
    at_start: bool


def module_paths(folder: Path) -> dict[str, Path]:
    """The files of a package by the name of their module."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, source: str, modules: set[str]) -> list[Import]:
    """What a module imports of `modules`, inside functions too, but not for type checkers alone."""
    package = name.split(".")[0]

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}:{node.lineno}: write imports in full, without dots"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in modules else str(node.module)

    def walk(node: ast.AST, at_start: bool) -> Iterator[Import]:
        for target in targets(node):
            if target.split(".")[0] == package:
                yield Import(name, target, getattr(node, "lineno", 0), at_start)
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            children = node.orelse
        inner = at_start and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in children:
            yield from walk(child, inner)

    return list(walk(_parsed(source), at_start=True))


@cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def against_the_order(imports: list[Import]) -> list[str]:
    """Imports of something above the importer, each as a sentence."""
    said = {}  # one sentence for an import of several names
    for one in imports:
        low, high = one.importer.split(".")[1], [*one.imported.split("."), "the package"][1]
        if LEVEL.get(high, len(LEVELS)) > LEVEL[low]:
            said[
                f"{one.importer} line {one.line} imports {one.imported}: {high} is above {low}; "
                "move what is needed down, or the code that needs it up"
            ] = one
    return list(said)


def run_by(one: Import, modules: set[str]) -> list[str]:
    """The modules an import runs: the one named, and the packages it is in."""
    parts = one.imported.split(".")
    names = [".".join(parts[: count + 1]) for count in range(1, len(parts))]
    around = f"{one.importer}."
    return [
        n for n in names if n in modules and n != one.importer and not around.startswith(f"{n}.")
    ]


def cycle(imports: list[Import], modules: set[str]) -> list[str]:
    """A circle of modules that import one another, or [].

    An import at start also runs the packages around what it names; one inside a function leads to
    the module it names alone.
    """
    graph: dict[str, set[str]] = {}
    for one in imports:
        found = run_by(one, modules) if one.at_start else [one.imported]
        graph.setdefault(one.importer, set()).update(found)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


@pytest.fixture(scope="module")
def modules() -> dict[str, Path]:
    return module_paths(SOURCE)


@pytest.fixture(scope="module")
def imports(modules) -> list[Import]:
    """All of directgp, but for the package itself and `python -m directgp`, which start it."""
    return [
        one
        for name, path in modules.items()
        if name not in ("directgp", "directgp.__main__")
        for one in imports_of(name, path.read_text("utf-8"), set(modules))
    ]


def test_every_folder_and_module_at_the_root_has_its_place(modules):
    rooms = {name.split(".")[1] for name in modules if "." in name}
    unknown = sorted(rooms - set(LEVEL) - {"__main__"})
    assert not unknown, f"{', '.join(unknown)}: say in LEVELS what may import it"


def test_imports_go_downwards(imports):
    assert len(imports) > 500
    wrong = against_the_order(imports)
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_one_another_in_a_circle_not_even_inside_functions(imports, modules):
    found = cycle(imports, set(modules))
    assert not found, " -> ".join(found)


def test_few_modules_stand_at_the_root(modules):
    at_the_root = [p.stem for p in SOURCE.glob("*.py") if not p.stem.startswith("__")]
    assert len(at_the_root) <= MOST_AT_THE_ROOT, at_the_root


def test_nothing_in_the_library_imports_what_is_not_installed(modules):
    for name, path in modules.items():
        source = path.read_text("utf-8")
        for outside in ("experiments", "benchmarks", "tests"):
            found = imports_of(f"{outside}.of.{name}", source, set())
            assert not found, f"{name} line {found[0].line} imports {found[0].imported}"


def test_the_rules_see_what_breaks_them():
    names = {f"directgp.{name}" for name in ("tables", "tables.a", "tables.b", "fitting", "api")}
    source = """
from typing import TYPE_CHECKING
from directgp.tables import b
if TYPE_CHECKING:
    from directgp.cli.app import run
else:
    import directgp.fitting.fit
class Lazy:
    def go(self):
        from directgp.api import fit
"""
    found = imports_of("directgp.tables.a", source, names)
    assert [(one.imported, one.line, one.at_start) for one in found] == [
        ("directgp.tables.b", 3, True),
        ("directgp.fitting.fit", 7, True),
        ("directgp.api", 10, False),
    ]
    said = against_the_order(found)
    assert len(said) == 2 and said[1].startswith(
        "directgp.tables.a line 10 imports directgp.api: api is above tables; move what is"
    )
    back = imports_of("directgp.tables.b", "import directgp.tables.a", names)
    assert cycle(found + back, names) and not cycle(found, names)
    hidden = imports_of("directgp.tables.b", "def go():\n    import directgp.tables.a", names)
    assert cycle(found + hidden, names)
    package = imports_of("directgp.fitting", "from directgp.tables.a import x", names)
    around = imports_of("directgp.tables", "from directgp.fitting import y", names)
    assert set(cycle(package + around, names)) == {"directgp.fitting", "directgp.tables"}
