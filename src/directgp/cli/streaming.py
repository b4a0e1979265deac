"""Training on Parquet that is larger than memory."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from directgp.cli.console import Terminal
from directgp.cli.errors import UserError
from directgp.cli.hints import longer_training
from directgp.cli.models import TableModel
from directgp.cli.options import flag
from directgp.cli.processes import HERE, Place
from directgp.cli.training import OPTIONS_OF_MEMORY, Options
from directgp.distributed import Team, TeamError
from directgp.fitting.default_likelihood import default_likelihood, task_of
from directgp.fitting.fit_stream import default_epochs, fit_stream
from directgp.fitting.flat_options import trained_model_from_options
from directgp.report import Targets
from directgp.tables import TargetEncoder
from directgp.tables.parquet_source import ParquetSource, is_parquet

LARGE = 1 << 30
"""Parquet files from this size in bytes on are streamed by default."""


def is_streamed(data: Path, asked: bool | None) -> bool:
    """Whether to stream a table.

    Args:
        data: the file or folder.
        asked: --stream (True), --in-memory (False) or None, which streams folders and large files.
    """
    if asked and not is_parquet(data):
        raise UserError(f"only Parquet can be streamed, not {data}; leave out --stream")
    if asked is False and data.is_dir():
        raise UserError(f"{data} is a folder, which can only be streamed; leave out --in-memory")
    if asked is not None:
        return asked
    return is_parquet(data) and (data.is_dir() or data.stat().st_size >= LARGE)


_ONLY_IN_MEMORY = {
    "report": "a stream holds out no rows for a report; leave out --report, and run directgp "
    "evaluate on rows that were not in DATA",
    "holdout": "a stream holds out no rows for scores; leave out --holdout{or_memory}",
    "max_steps": "--max-steps is for small tables in memory; a stream takes --epochs or "
    "--time-budget",
    "cost": "a stream cannot be trained for a cost; leave out --cost{or_memory}",
}
"""Options that have no effect on a stream, and what to do instead."""


def check_streamable(
    data: Path, options: Options, given: Collection[str], targets: Sequence[str], alone: bool
) -> None:
    """Raise an error for options that a stream does not support, before anything is read.

    Args:
        data: the file or folder.
        options: as given on the command line.
        given: names of the options that were given and not left at their defaults.
        targets: names of the target columns.
        alone: whether one process trains; it can read a file into memory instead.
    """
    or_memory = ", or add --in-memory" if alone and data.is_file() else ""
    none_aside = {"holdout"} if options.holdout == 0 else set()  # the behaviour of a stream
    for name, advice in _ONLY_IN_MEMORY.items():
        if name in {*given} - none_aside:
            raise UserError(advice.format(or_memory=or_memory))
    if len(targets) > 1:
        raise UserError(f"a stream has a single target; name one{or_memory}")
    special = [
        name for name in OPTIONS_OF_MEMORY if getattr(options, name) != getattr(Options, name)
    ]
    if options.layers not in ("auto", 1):
        special.append("layers")
    if special:
        raise UserError(
            f"{flag(special[0])} does not work with a stream yet; leave it out{or_memory}"
        )


def train_stream(
    data: Path,
    options: Options,
    terminal: Terminal,
    *,
    target: str | None,
    task: str,
    drop: Sequence[str],
    categories: Sequence[str],
    epochs: int | None,
    checkpoint: Path,
    place: Place = HERE,
) -> TableModel:
    """Call `fit_stream` with the options of the command line.

    Args:
        data: the file or folder.
        options: as given on the command line.
        terminal: for notes and progress.
        target: the target column; None chooses one.
        task: "regression", "counts", "classes" or "auto".
        drop: columns that are not inputs.
        categories: columns that are categories although they hold numbers.
        epochs: the number of epochs; None is the default.
        checkpoint: the folder of checkpoints.
        place: this process among several.
    """
    given = None if options.likelihood == "auto" else options.likelihood
    wanted = None if task == "auto" else task
    if given is not None:
        if task not in ("auto", task_of(given)):
            raise UserError(f"likelihood {given!r} is for {task_of(given)}, not for {task}")
        wanted = task_of(given)
    team = place.join()
    try:
        done = fit_stream(
            data,
            target,
            task=wanted,
            drop=drop,
            categories=categories,
            missing=options.missing,
            model=trained_model_from_options(options.model_options() | {"layers": 1}),
            likelihood=given,
            training=replace(options.training(checkpoint), epochs=epochs),
            seed=options.seed,
            loss=options.loss,
            beta=options.beta,
            verbose=terminal.progress,
            team=team,
            own_files=place.own_files,
        )
    except TeamError as error:
        kept = any(checkpoint.glob("*.safetensors"))
        raise UserError(f"{error}{', with --resume' if kept else ''}") from None
    for note in done.notes:
        terminal.info(f"Column {note}.")
    rows, training = _summary(data, done.target, team, place.own_files)
    likelihood = given or default_likelihood(done.target.task, len(done.target.labels))
    facts = options.facts() | {
        "likelihood": likelihood,
        "holdout": 0.0,
        "source": data.name,
        "rows": rows,
        "rows_aside": 0,
        "streamed": True,
        "hints": longer_training(done.fitted, options, default_epochs(max(1, rows))),
    }
    none = np.zeros(0, dtype=np.uint64)
    return TableModel(done.fitted, done.encoder, (done.target,), (training,), none, facts)


def _summary(data: Path, target: TargetEncoder, team: Team, own_files: bool) -> tuple[int, Targets]:
    """`summary_of` over the rows of all processes."""
    if not own_files:
        return summary_of(data, target) if team.leads else (0, Targets(0.0, 0.0, ()))
    parts = [
        (rows, Targets(*facts)) for rows, facts in team.gather_values(summary_of(data, target))
    ]
    total = sum(rows for rows, _ in parts)
    mean = sum(rows * own.mean for rows, own in parts) / total
    variance = sum(rows * (own.variance + (own.mean - mean) ** 2) for rows, own in parts) / total
    counts = np.sum([own.counts for _, own in parts], axis=0, dtype=int).tolist()
    return total, Targets(mean, variance, tuple(counts))


def summary_of(data: Path, target: TargetEncoder) -> tuple[int, Targets]:
    """The number of rows, and the mean, variance and class counts of their targets.

    Args:
        data: the file or folder.
        target: the encoder of the target.
    """
    rows, total, squares = 0, 0.0, 0.0
    counts = np.zeros(len(target.labels), dtype=np.int64)
    shift = None
    for piece in ParquetSource(data).pieces([target.name]):
        y = target.encode(piece.table[target.name], rows_before=piece.first)
        # Subtracting a value near the mean avoids cancellation in the sum of squares.
        shift = float(y[0]) if shift is None else shift
        rows, total = rows + len(y), total + float(np.sum(y - shift))
        squares += float(np.sum((y - shift) ** 2))
        if len(counts):
            counts += np.bincount(y.astype(np.intp), minlength=len(counts))
    mean = total / rows
    shifted = mean + (shift or 0.0)
    return rows, Targets(shifted, squares / rows - mean**2, tuple(int(c) for c in counts))
