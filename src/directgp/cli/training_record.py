"""What a model file stores of its training: options, a summary of the targets, fingerprints."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_type_hints

import numpy as np

from directgp.cli.read_rows import TrainingTable
from directgp.cli.training import Options
from directgp.cli.unseen_rows import fingerprints
from directgp.errors import DirectGPError
from directgp.persistence.bounded_json import read_json
from directgp.persistence.field_types import conforms
from directgp.persistence.table_model import several
from directgp.report import Targets
from directgp.tables import TargetEncoder

_MOST_FINGERPRINTS = 2_000_000


def facts_of(training_table: TrainingTable, options: Options) -> dict[str, Any]:
    """The part of a model's `facts` that is known before training.

    Args:
        training_table: the rows.
        options: the options of the command line.
    """
    return options.facts() | {
        "likelihood": training_table.likelihood,
        "holdout": training_table.holdout,
        "rows": len(training_table.train),
        "rows_aside": 0 if training_table.aside is None else len(training_table.aside),
    }


def remembered(training_table: TrainingTable) -> tuple[np.ndarray, tuple[Targets, ...]]:
    """What a model stores of its training rows: fingerprints (unless there are too many) and a
    summary of each target."""
    train = training_table.train
    few = len(train) <= _MOST_FINGERPRINTS
    # Encoded as at prediction, so that they are recognised later, not out of fold as for training.
    again = replace(train, X=training_table.encoder.encode(train.table).X) if few else train
    known = fingerprints(again) if few else np.zeros(0, np.uint64)
    return known, tuple(
        Targets.of(train.with_output(number).y, len(target.labels))
        for number, target in enumerate(training_table.targets)
    )


def read_remembered(
    extras: Mapping[str, Any], targets: Sequence[TargetEncoder]
) -> tuple[tuple[Targets, ...], np.ndarray, dict[str, Any]]:
    """Summaries of the targets, fingerprints and options from a model file, all validated.

    Args:
        extras: the additional entries of the file.
        targets: the targets of the model.
    """
    training = tuple(_training(text) for text in several(extras["training"]))
    if len(training) != len(targets) or any(
        len(own.counts) != len(target.labels)
        for own, target in zip(training, targets, strict=False)
    ):
        raise DirectGPError("the training targets are not those of the model")
    seen, facts = extras["seen"], read_json(extras["facts"])
    if not isinstance(seen, np.ndarray) or seen.ndim != 1 or seen.dtype != np.uint64:
        raise DirectGPError("the fingerprints of the training rows are not an array of uint64")
    if not isinstance(facts, dict):
        raise DirectGPError("the options are not a mapping")
    for name, hint in (get_type_hints(Options) | _OTHER_FACTS).items():
        if name in _OTHER_FACTS and name not in facts and name != "streamed":
            raise DirectGPError(f"{name} is missing")
        if name in facts and not conforms(facts[name], hint | None if name == "loss" else hint):
            raise DirectGPError(f"{name} has a value of the wrong type")
    return training, seen, facts


_OTHER_FACTS = {
    "likelihood": str,
    "kernel": str,
    "seed": int,
    "rows": int,
    "source": str,
    "hints": list[str],
    "streamed": bool,
}
"""Entries of `facts` besides the fields of `Options`, with their types."""


def _training(text: str) -> Targets:
    mean, variance, counts = read_json(text)
    if not conforms((mean, variance, counts), tuple[float, float, list[int]]):
        raise DirectGPError("the summary of the training targets is not numeric")
    return Targets(mean, variance, tuple(counts))
