"""`fit_stream`: a Gaussian process from a table larger than memory."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from directgp.distributed import ALONE, Team
from directgp.errors import DirectGPError
from directgp.fitting.default_likelihood import check_classes, default_likelihood
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP
from directgp.fitting.options import BATCH_SIZE, check_counts
from directgp.likelihoods import Likelihood, likelihoods
from directgp.tables import Note, TableEncoder, TargetEncoder
from directgp.tables.stream import StreamedRows
from directgp.training.initialise import default_num_inducing

_STEPS = 10_000


class StreamFit(NamedTuple):
    """A trained model and what turns rows of the table into its inputs and targets."""

    fitted: FittedGP
    encoder: TableEncoder
    target: TargetEncoder
    notes: tuple[Note, ...]
    """What encoding met in rows outside the sample: levels unseen, values filled."""


def fit_stream(
    source: Any,
    target: str | None = None,
    *,
    task: str | None = None,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    missing: str = "indicator",
    max_levels: int = 50,
    likelihood: str | Likelihood | None = None,
    epochs: int | float | None = None,
    batch_size: int | None = BATCH_SIZE,
    num_inducing: int | None = None,
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
    rows. Same file and seed, same result. `target`, `task`, `drop`, `categories`, `missing` and
    `max_levels` are those of `find_target`, `TargetEncoder` and `TableEncoder`; without a
    `likelihood` the task chooses it; without `epochs` there are about 10,000 steps, between 1
    and 60 epochs. `options` are those of `fit`.

    A `team` (see `connect`) trains one model together: called in every process with the same
    arguments, each reads some of the row groups (with `own_files` the files it names for itself),
    contributes its share of every batch, and gets the same model back. What the model is depends
    on the number of `shards` (by default one a process), not on how many processes share them.
    """
    check_counts(locals())  # first of all, while these are the arguments
    if batch_size is None:
        raise DirectGPError(
            "batch_size must be a whole number ≥ 1, got None: a stream is never all in memory; "
            f"use {BATCH_SIZE}"
        )
    for name in ("validation", "sample_weight"):
        if name in options:
            raise DirectGPError(f"fit_stream chooses its own {name}; leave it out")
    if options.get("max_steps") is not None:
        raise DirectGPError(
            f"max_steps={options['max_steps']} is about full batches, and a stream is never all in "
            "memory; give epochs instead"
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
    size = min(batch_size, max(1, rows.num_rows // 2))
    number = default_num_inducing(rows.num_rows) if num_inducing is None else num_inducing
    try:
        fitted = fit(
            rows,
            rows.sample.y,
            likelihood=_likelihood(likelihood, rows.target),
            validation=tuple(rows.held_out),
            # The sample stands for all rows where a step needs rows once and for all.
            sample_weight=np.full(len(rows.sample.y), rows.num_rows / len(rows.sample.y)),
            epochs=default_epochs(rows.num_rows, size) if epochs is None else epochs,
            batch_size=size,
            num_inducing=number,
            seed=seed,
            **options,
        )
    finally:
        rows.close()
    return StreamFit(fitted, rows.encoder, rows.target, rows.notes)


def default_epochs(num_rows: int, batch_size: int = BATCH_SIZE) -> float:
    """Passes over a stream: as many as make about 10,000 steps, between 1 and 60."""
    return float(np.clip(_STEPS * batch_size / num_rows, 1, 60))


def _likelihood(given: str | Likelihood | None, target: TargetEncoder) -> Likelihood:
    name = default_likelihood(target.task, len(target.labels)) if given is None else given
    # The number of classes is the encoder's to say: the sample may lack a rare one.
    classes = np.arange(max(len(target.labels), 2))
    made = likelihoods.create(name).for_targets(classes) if isinstance(name, str) else name
    check_classes(made, target)
    return made
