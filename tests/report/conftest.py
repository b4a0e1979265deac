"""Judged predictions of every kind, made from numbers: no model is trained for a report's test."""

import numpy as np
import pytest

from directgp.likelihoods import PoissonExp
from directgp.predictive import ClassProbabilities, GaussianMixture
from directgp.report import Judged, Table, Targets, comparison_report, evaluation_report

HOSTILE = "<script>alert('x')</script>"
HISTORY = {
    "step": [50, 100, 150],
    "risk": [1.4, 0.9, 0.8],
    "penalty": [0.1, 0.2, 0.2],
    "objective": [1.5, 1.1, 1.0],
    "validation": [1.3, 1.0, 0.95],
}


def numbers(seed: int = 0, spread: float = 1.0, bias: float = 0.0, rows: int = 400) -> Judged:
    """y with noise 1 around a known mean; the model claims `spread` and is off by `bias`."""
    rng = np.random.default_rng(seed)
    mean = 3.0 * rng.standard_normal(rows)
    y = mean + rng.standard_normal(rows)
    predictive = GaussianMixture(mean[None] + bias, np.full((1, rows), spread**2), np.zeros(1))
    return Judged(
        HOSTILE,
        predictive,
        y,
        HISTORY,
        0.5,
        {0.1: 1.0, 0.5: 0.9, 5.0: 1.2},
        {"a": 0.7, HOSTILE: 0.3},
    )


def counts(rows: int = 300) -> Judged:
    rng = np.random.default_rng(1)
    latent = rng.standard_normal(rows)
    predictive = PoissonExp().predictive(
        latent[None, :, None], np.full((1, rows, 1), 1e-6), np.zeros(1)
    )
    return Judged("counts", predictive, rng.poisson(np.exp(latent)).astype(float))


def classes(num_classes: int = 2, sharper: float = 1.0, rows: int = 600) -> Judged:
    """Class probabilities from known scores; `sharper` > 1 makes the model over-confident."""
    rng = np.random.default_rng(2)
    scores = 1.5 * rng.standard_normal((rows, num_classes))
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    y = np.array([rng.choice(num_classes, p=p) for p in shares]).astype(float)
    claimed = sharper * scores
    claimed = claimed - np.log(np.exp(claimed).sum(1, keepdims=True))
    return Judged("classes", ClassProbabilities(claimed), y, HISTORY)


def rows_of(judged: Judged, num_classes: int = 0) -> Table:
    size = len(judged.y)
    return Table(
        HOSTILE,
        target=HOSTILE,
        classes=[f"{HOSTILE}{k}" for k in range(num_classes)] if num_classes else None,
        columns={"a": np.arange(size, dtype=float), HOSTILE: [HOSTILE] * size},
        training=Targets.of(judged.y, num_classes),
        facts={HOSTILE: HOSTILE},
    )


@pytest.fixture(scope="session")
def make():
    """The makers above, for tests that cannot import a conftest."""
    from types import SimpleNamespace

    return SimpleNamespace(
        numbers=numbers, counts=counts, classes=classes, rows_of=rows_of, hostile=HOSTILE
    )


@pytest.fixture(scope="session")
def judged_of_every_kind():
    """(judged, table) for numbers, counts, two classes and many."""
    return {
        "numbers": (numbers(), rows_of(numbers())),
        "counts": (counts(), rows_of(counts())),
        "two classes": (classes(2), rows_of(classes(2), 2)),
        "many classes": (classes(14), rows_of(classes(14), 14)),
    }


@pytest.fixture(scope="session")
def pages(judged_of_every_kind, make):
    """A page of every kind, with hostile names everywhere."""
    made = {k: evaluation_report(*parts) for k, parts in judged_of_every_kind.items()}
    models = [make.numbers(), make.numbers(spread=2.0)]
    models = [
        type(m)(f"{make.hostile}{i}", *list(vars(m).values())[1:]) for i, m in enumerate(models)
    ]
    made["comparison"] = comparison_report(models, make.rows_of(models[0]))
    return made
