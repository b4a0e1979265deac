"""Benchmarks run seldom and need peers; what they import from directgp must be there."""

import ast
import importlib
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "benchmarks").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_names_of_directgp_exist(path):
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(
            "directgp"
        ):
            module = importlib.import_module(statement.module)
            for alias in statement.names:
                assert hasattr(module, alias.name), f"{statement.module}.{alias.name}"
