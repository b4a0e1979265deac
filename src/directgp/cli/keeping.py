"""What was trained is kept until everything is written, whatever stops a command before that."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from directgp.cli.errors import Interrupted, UserError, advice_on, one_line
from directgp.cli.models import TableModel, facts_of, remembered
from directgp.cli.rows import Learnable
from directgp.cli.training import Options
from directgp.fitted import FittedGP
from directgp.fitting_outputs import FittedOutputs


def checkpoint_folder(beside: Path, resume: bool | None, keeps: bool = True) -> Path:
    """Where checkpoints of this run live; an interrupted run is never thrown away unasked.

    A process that does not keep them itself only needs to know where.
    """
    folder = beside.with_name(beside.name + ".checkpoint")
    if not keeps:
        return folder
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is in the way of checkpoints; move it or choose another output")
    held = _holds_run(folder)
    if held and resume is None:
        raise UserError(
            f"{folder} holds an interrupted run; add --resume to go on with it or --fresh to "
            "start over"
        )
    if resume and not held:
        raise UserError(f"there is no interrupted run in {folder}; leave out --resume")
    if held and resume is False:
        shutil.rmtree(folder)
    return folder


def _holds_run(folder: Path) -> bool:
    return any(path.is_file() for path in folder.rglob("*"))


@contextmanager
def keeping(folder: Path, owned: bool = True) -> Iterator[None]:
    """Whoever owns the folder removes it when the block has done and written everything.

    What stops the block before, Ctrl-C or a full disk, leaves it and says how to go on.
    """
    kept = f"What was trained is kept in {folder}; run the same command with --resume to go on."
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
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        if owned and not _holds_run(folder):
            shutil.rmtree(folder, ignore_errors=True)


def trained_once(
    folder: Path,
    name: str,
    learnable: Learnable,
    options: Options,
    train: Callable[[Path], FittedGP | FittedOutputs],
) -> TableModel:
    """The model that an interrupted run finished and left in `folder`, else a new one, left there.

    `train` is told where to keep its checkpoints, which go when the model is there instead.
    """
    path = folder / f"{name}.dgp"
    if path.exists():
        return kept_model(path, learnable, options)
    model = TableModel.of(train(folder / name), learnable, options)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(path)
    shutil.rmtree(folder / name, ignore_errors=True)
    return model


def kept_model(path: Path, learnable: Learnable, options: Options) -> TableModel:
    """A finished model, if it is from the same rows and options."""
    model = TableModel.load(path)
    known, training = remembered(learnable)
    same_rows = np.array_equal(model.seen, known) and model.training == training
    wanted = json.loads(json.dumps(facts_of(learnable, options)))
    if not same_rows or any(model.facts.get(name) != value for name, value in wanted.items()):
        raise UserError(
            f"{path.parent} is from other rows or options; give the same, or --fresh to start over"
        )
    return model
