"""What is imported when: large packages wait until they are needed."""

import json
import subprocess
import sys

import pytest

import directgp
import directgp.api

LARGE = ("jax", "sklearn", "pandas", "scipy", "matplotlib", "pyarrow", "optax", "equinox")


def imported(code: str) -> set[str]:
    """The large packages in memory after some code ran in a fresh process."""
    report = (
        "import json, sys\ntry:\n"
        + "\n".join(f"    {line}" for line in code.splitlines())
        + f"\nfinally:\n    print('LARGE', json.dumps([m for m in {(*LARGE, 'scipy.stats')!r} "
        "if m in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("LARGE")]
    assert lines and "AssertionError" not in done.stderr, done.stderr
    return set(json.loads(lines[-1].removeprefix("LARGE ")))


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A model as the command line writes it."""
    import numpy as np

    from directgp.cli.app import run

    folder = tmp_path_factory.mktemp("model")
    x = np.linspace(0.0, 1.0, 40)
    rows = "\n".join(f"{a:.3f},{np.sin(9 * a):.4f},{'ab'[int(9 * a) % 2]}" for a in x)
    (folder / "rows.csv").write_text(f"a,y,kind\n{rows}\n")
    path = folder / "model.dgp"
    given = ["fit", str(folder / "rows.csv"), "--target", "y", "-o", str(path), "--quiet"]
    assert run([*given, "--beta", "1", "--max-steps", "20", "--holdout", "0"]) == 0
    return path


def test_importing_directgp_imports_nothing_large():
    assert imported("import directgp; directgp.__version__") == set()


HEAVY = (
    "pandas",
    "scipy.stats",
    "scipy.ndimage",
    "scipy.interpolate",
    "scipy.integrate",
    "sklearn.ensemble",
    "sklearn.metrics",
    "sklearn.linear_model",
    "matplotlib",
    "optax",
    "llvmlite",
    "polars",
    "rich",
    "typer",
    "numpyro",
)
"""What takes long to import, and what an estimator does not need until it is fitted, if at all."""


def test_estimators_are_imported_without_heavy_packages():
    """One after the other in one process: what one of them imports is still there at the end."""
    statements = (
        "import directgp.estimators",
        "from directgp import GPRegressor; GPRegressor()",
        "from directgp.api import *",
    )
    lines = ["import sys"]
    for statement in statements:
        lines += [statement, f"print([m for m in {HEAVY!r} if m in sys.modules])"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.stdout.split("\n")[:-1] == ["[]"] * 3, done.stderr or done.stdout


@pytest.mark.parametrize("name", ["GPRegressor", "GPClassifier"])
def test_an_estimator_is_made_without_jax(name):
    found = imported(f"from directgp import {name}; repr({name}(beta=1.0).set_params(layers=2))")
    assert "sklearn" in found and not found & {"jax", "equinox", "pyarrow", "scipy.stats"}


def test_fit_needs_no_scikit_learn_pandas_or_statistics_and_nothing_is_collected_meanwhile():
    """Garbage collection stops while a name is loaded and is on again when it is there."""
    found = imported(
        "import gc, directgp\n"
        "directgp.__version__\n"
        "began = gc.get_stats()[2]['collections']\n"
        "directgp.fit\n"
        "assert gc.get_stats()[2]['collections'] == began\n"
        "assert gc.isenabled()"
    )
    assert not found & {"sklearn", "pandas", "scipy.stats", "matplotlib", "optax"}


@pytest.mark.parametrize("command", [["--help"], ["fit", "--help"], ["fit", "--no-such-option"]])
def test_help_and_errors_of_usage_import_nothing_large(command):
    assert imported(f"from directgp.cli.app import run; run({command!r})") == set()


@pytest.mark.parametrize("command", ["inspect", "predict", "evaluate", "decide", "fit", "compare"])
def test_a_missing_file_is_said_without_jax(command, tmp_path, capfd):
    missing = str(tmp_path / "none.dgp")
    given = [command, missing, *([missing] if command in ("predict", "evaluate", "decide") else [])]
    assert imported(f"from directgp.cli.app import run; run({given!r})") == set()


def test_inspect_reads_what_the_file_says_of_itself(model_file):
    found = imported(
        f"from directgp.cli.app import run; assert run(['inspect', {str(model_file)!r}]) == 0"
    )
    assert found == set()


def test_what_a_file_says_of_itself_is_what_loading_it_says(model_file):
    from directgp.cli.models import TableModel
    from directgp.persistence.inspection import read_inspection

    assert read_inspection(model_file) == TableModel.load(model_file).inspection()


def test_every_public_name_is_found_alone_and_is_the_one_in_api():
    for name in directgp.__all__:
        assert getattr(directgp, name) is getattr(directgp.api, name), name
    assert set(directgp.__all__) <= set(directgp._homes()) | {"__version__"}


def test_loading_a_name_leaves_garbage_collection_off_where_it_was_off():
    imported("import gc, directgp\ngc.disable()\ndirectgp.DirectGPError\nassert not gc.isenabled()")


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no_such_name"):
        directgp.no_such_name  # noqa: B018
