"""The fast tier leaves out what it says it leaves out."""

from pathlib import Path

import pytest

from tests.tiers import HEAVY, is_heavy

TESTS = Path(__file__).parent


def test_every_heavy_file_is_there():
    gone = [name for name in HEAVY if not (TESTS / name).is_file()]
    assert not gone, "take these out of tests/tiers.py, or write their new names"


@pytest.mark.parametrize(
    ("path", "examples", "heavy"),
    [
        ("tests/fitting/test_fit.py", "", True),
        ("tests/test_tiers.py", "", False),
        ("src/directgp/fitting/fit.py", "fitted = fit(X, y)", True),
        ("src/directgp/exact/classifier.py", "fit_exact(X, y)", True),
        ("src/directgp/estimators/regressor.py", "GPRegressor().fit(X, y)", True),
        ("src/directgp/registry.py", "registry.create('rbf').fitted", False),
    ],
)
def test_files_and_examples_that_train_are_heavy(path, examples, heavy):
    assert is_heavy(path, examples) == heavy


def test_heavy_tests_are_marked(request):
    marked = {
        item.nodeid.split("::")[0]
        for item in request.session.items
        if item.get_closest_marker("heavy")
    }
    named = {f"tests/{name}" for name in HEAVY}
    collected = {item.nodeid.split("::")[0] for item in request.session.items}
    assert collected & named <= marked
    assert not {path for path in marked if path.startswith("tests/")} - named
