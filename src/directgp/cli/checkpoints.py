"""Checkpoints of a command, kept until all outputs are written, for --resume."""

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directgp.cli.errors import Interrupted, UserError, advice_on, one_line
from directgp.cli.models import TableModel
from directgp.cli.read_rows import TrainingTable
from directgp.cli.training import Options
from directgp.cli.training_record import facts_of, remembered
from directgp.fitting.any_fitted import Fitted
from directgp.training.folder_lock import holding, is_part_of_lock


def checkpoint_folder(output: Path, resume: bool | None, keeps: bool = True) -> Path:
    """The folder of this command's checkpoints; an interrupted run is deleted only with --fresh.

    Args:
        output: the file that the folder is named after.
        resume: True to continue an interrupted run, False to delete it, None if not given.
        keeps: whether this process writes checkpoints (one of several processes does).
    """
    folder = output.with_name(output.name + ".checkpoint")
    if not keeps:
        return folder
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is in the way of checkpoints; move it or choose another output")
    with holding(folder):  # raises an error that names the process that uses it
        return _checked(folder, resume)


def _checked(folder: Path, resume: bool | None) -> Path:
    held = _holds_run(folder)
    if held and resume is None:
        raise UserError(
            f"{folder} holds an interrupted run; add --resume to continue it or --fresh to "
            "start over"
        )
    if resume and not held:
        raise UserError(f"there is no interrupted run in {folder}; leave out --resume")
    if held and resume is False:
        _empty(folder)
    return folder


def _empty(folder: Path) -> None:
    """Remove all files but the lock, which its holder removes."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not is_part_of_lock(path):
            path.unlink()


def _holds_run(folder: Path) -> bool:
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(not is_part_of_lock(path) for path in files)


@contextmanager
def keeping(folder: Path, owned: bool = True) -> Iterator[None]:
    """Lock the folder of checkpoints while the block runs, and empty it when the block succeeds.

    After Ctrl-C or an error of the disk the folder stays, and the message says how to resume.

    Args:
        folder: from `checkpoint_folder`.
        owned: whether this process locks and empties the folder (one of several processes does).
    """
    with holding(folder if owned else None), _kept(folder, owned):
        yield


@contextmanager
def _kept(folder: Path, owned: bool) -> Iterator[None]:
    kept = f"Checkpoints are in {folder}; run the same command with --resume to continue."
    try:
        yield
    except KeyboardInterrupt:
        if not _holds_run(folder):
            raise
        raise Interrupted(kept) from None
    except OSError as error:
        if not _holds_run(folder):
            raise
        raise UserError(f"{one_line(error)}{advice_on(error)}. {kept}") from None
    else:
        if owned:
            _emptied(folder)
    finally:
        if owned and not _holds_run(folder):
            _emptied(folder)


def _emptied(folder: Path) -> None:
    """`_empty` without errors, as the outputs are already written."""
    with contextlib.suppress(OSError):
        _empty(folder)


class Kept(NamedTuple):
    """A finished model and its file among the checkpoints, which is moved to the user's path."""

    model: TableModel
    path: Path


def trained_once(
    folder: Path,
    name: str,
    training_table: TrainingTable,
    options: Options,
    train: Callable[[Path], Fitted],
) -> Kept:
    """Load a model that an interrupted run saved in `folder`, else train it and save it there.

    Args:
        folder: the checkpoints of this command.
        name: the name of the model, for commands that train several.
        training_table: the rows; a model of other rows is an error.
        options: how to train; a model of other options is an error.
        train: called with the folder of its own checkpoints, which is removed once the model is
            saved.
    """
    path = folder / f"{name}.dgp"
    if path.exists():
        return Kept(kept_model(path, training_table, options), path)
    model = TableModel.of(train(folder / name), training_table, options)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(path)
    shutil.rmtree(folder / name, ignore_errors=True)
    return Kept(model, path)


def kept_model(path: Path, training_table: TrainingTable, options: Options) -> TableModel:
    """Load a finished model; one of other rows or options is an error."""
    model = TableModel.load(path)
    known, training = remembered(training_table)
    same_rows = np.array_equal(model.seen, known) and model.training == training
    wanted = json.loads(json.dumps(facts_of(training_table, options)))
    if not same_rows or any(model.facts.get(name) != value for name, value in wanted.items()):
        raise UserError(
            f"{path.parent} is from other rows or options; give the same, or --fresh to start over"
        )
    return model
