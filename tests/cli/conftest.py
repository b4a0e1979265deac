"""The command line in-process, small tables, and models that are trained once."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from directgp.cli.app import run
from directgp.tables import write_table

QUICK = ["--beta", "1", "--max-steps", "60", "--num-inducing", "20"]


REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """For real processes: they find the package wherever they start, and share no cache."""
    path = [str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capfd):
    """Run a command line; its exit code and what it wrote."""

    def call(*arguments) -> Ended:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ended(code, *capfd.readouterr())

    return call


def houses(rows: int = 150, seed: int = 0) -> dict:
    """A table with numbers, text, an identifier; price is the target of regression."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(30, 200, rows).round(1)
    kind = rng.choice(["flat", "house", "<b>&"], rows)
    price = 2000.5 * size * (1 + 0.3 * (kind == "house")) + 100 * size * rng.standard_normal(rows)
    return {
        "id": np.arange(rows),
        "size": size,
        "kind": kind.tolist(),
        "rooms": rng.poisson(size / 25),
        "sold": np.where(size + 30 * rng.standard_normal(rows) > 110, "yes", "no").tolist(),
        "price": price,
    }


TARGETS = {"regression": "price", "classes": "sold", "counts": "rooms"}


class Shop(NamedTuple):
    """Files that many tests read and none may write."""

    folder: Path
    table: Path
    models: dict[str, Path]


@pytest.fixture(scope="session")
def shop(tmp_path_factory) -> Shop:
    """A table, and one small model of every task."""
    folder = tmp_path_factory.mktemp("shop")
    table = folder / "houses.csv"
    write_table(table, houses())
    models = {}
    for task, target in TARGETS.items():
        models[task] = folder / f"{task}.dgp"
        arguments = ["fit", table, "--target", target, "--task", task, "-o", models[task]]
        assert run([str(a) for a in (*arguments, *QUICK, "--quiet")]) == 0
    return Shop(folder, table, models)


@pytest.fixture(scope="session")
def quick() -> list[str]:
    """Options that make a fit short."""
    return QUICK


@pytest.fixture(scope="session")
def make_houses():
    """The maker of tables."""
    return houses
