"""`fit_stream`: a Gaussian process from a table larger than memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from directgp.distributed import ALONE, Team
from directgp.errors import DirectGPError, WrongType
from directgp.fitting.checks import check_count
from directgp.fitting.default_likelihood import check_classes, default_likelihood
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP
from directgp.fitting.specs import BATCH_SIZE, ModelSpec, Sparse, Training
from directgp.likelihoods import Likelihood, likelihoods
from directgp.predictive import Predictive
from directgp.tables import Note, TableEncoder, TargetEncoder
from directgp.tables.stream import StreamedRows
from directgp.training.initialise import default_num_inducing

_STEPS = 10_000
_SPARSE, _TRAINING = Sparse(), Training()


class StreamFit(NamedTuple):
    """A trained model with the encoders of its inputs and targets."""

    fitted: FittedGP[Predictive]
    encoder: TableEncoder
    target: TargetEncoder
    notes: tuple[Note, ...]
    """Notes of the encoders on rows outside of the sample: new levels, imputed values."""


def fit_stream(
    source: Any,
    target: str | None = None,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    missing: str = "indicator",
    max_levels: int = 50,
    model: ModelSpec = _SPARSE,
    likelihood: str | Likelihood | None = None,
    training: Training = _TRAINING,
    seed: int = 0,
    team: Team = ALONE,
    shards: int | None = None,
    own_files: bool = False,
    **options: Any,
) -> StreamFit:
    """`fit` on Parquet of any size (a file, a folder or a list of files) in bounded memory.

    Two passes learn the encoders (from 50,000 random rows), the scales (from all rows) and hold
    out 10,000 random rows (a tenth of a smaller table); training then takes shuffled
    mini-batches: row groups in random order, several at a time, through a buffer of 131,072
    rows. Same file and seed, same result.

    Args:
        source: the files.
        target: the column to predict; `target`, `task`, `drop`, `categories`, `missing` and
            `max_levels` are those of `find_target`, `TargetEncoder` and `TableEncoder`.
        model: the spec of the model.
        likelihood: None: the default of the task.
        training: without `epochs` there are about 10,000 steps, between 1 and 60 epochs;
            `max_steps` and batch_size=None are for tables in memory and refused.
        seed: of all random numbers.
        team: processes that train one model (see `connect`). Every process calls `fit_stream`
            with the same arguments, reads some of the row groups, contributes a part of every
            batch and returns the same model.
        shards: the number of shards of the data, by default one per process. The result depends
            on it, not on the number of processes.
        own_files: every process of a team reads its own files, instead of a part of all files.
        **options: the other arguments of `fit`.
    """
    check_count("seed", seed, 0)
    if training.batch_size is None:
        raise DirectGPError(
            "batch_size must be a whole number ≥ 1, got None: a stream is never all in memory; "
            f"use {BATCH_SIZE}"
        )
    for name in ("validation", "sample_weight"):
        if name in options:
            raise DirectGPError(f"fit_stream chooses its own {name}; leave it out")
    if training.max_steps is not None:
        raise DirectGPError(
            f"max_steps={training.max_steps} is about full batches, and a stream is never all in "
            "memory; give epochs instead"
        )
    if not isinstance(model, ModelSpec):
        raise WrongType(
            f"a stream trains a new model: a Sparse, Deep or Decoupled, got a "
            f"{type(model).__name__}"
        )
    rows = StreamedRows.open(
        source,
        target,
        task=task,
        drop=drop,
        categories=categories,
        missing=missing,
        max_levels=max_levels,
        seed=seed,
        team=team,
        shards=shards,
        own_files=own_files,
    )
    size = min(training.batch_size, max(1, rows.num_rows // 2))
    epochs = training.epochs or default_epochs(rows.num_rows, size)
    number = model.num_inducing or default_num_inducing(rows.num_rows)
    try:
        fitted = fit(
            rows,
            rows.sample.y,
            likelihood=_likelihood(likelihood, rows.target),
            validation=tuple(rows.held_out),
            # The sample represents all rows where training needs fixed rows.
            sample_weight=np.full(len(rows.sample.y), rows.num_rows / len(rows.sample.y)),
            model=replace(model, num_inducing=number),
            training=replace(training, epochs=epochs, batch_size=size),
            seed=seed,
            **options,
        )
    finally:
        rows.close()
    return StreamFit(fitted, rows.encoder, rows.target, rows.notes)


def default_epochs(num_rows: int, batch_size: int = BATCH_SIZE) -> float:
    """Default epochs over a stream: about 10,000 steps, between 1 and 60 epochs.

    Args:
        num_rows: of the stream.
        batch_size: of a mini-batch.
    """
    return float(np.clip(_STEPS * batch_size / num_rows, 1, 60))


def _likelihood(given: str | Likelihood | None, target: TargetEncoder) -> Likelihood:
    name = default_likelihood(target.task, len(target.labels)) if given is None else given
    # The number of classes is that of the encoder, because a rare one may be missing in the sample.
    classes = np.arange(max(len(target.labels), 2))
    made = likelihoods.create(name).for_targets(classes) if isinstance(name, str) else name
    check_classes(made, target)
    return made
