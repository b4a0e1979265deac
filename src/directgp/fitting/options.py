"""What `fit` and its relatives may be asked for: checked before anything is trained."""

import math
import os
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

from directgp.errors import DirectGPError
from directgp.fitting.fitted import FittedGP, check_choice
from directgp.fitting.structure import Structure
from directgp.training.loop import Settings
from directgp.training.select_beta import check_grid

BATCH_SIZE = 1000
MAX_STEPS = 2000
_EPOCHS = 60
_FASTEST = 1.0  # a step of Adam changes length-scales by up to this power of e
_LEAST_STEPS = 1000  # 60 passes over a few thousand rows leave most tables under-trained
_CHUNK = 50

Options = Mapping[str, Any]
"""Arguments by their names; others among them are left alone."""


# ---------------------------------------------------------------- values

_CHOICES = {
    "mean": ("zero", "constant"),
    "precision": ("auto", "float64", "mixed"),
}
_AMOUNTS = {
    "learning_rate": ("number", 0.05),
    "epochs": ("number", 60),
    "time_budget": ("number of seconds", 60),
}
"""What is above 0 and may be left out, and what to use instead of a wrong one."""
_COUNTS = {
    "max_steps": 1,
    "batch_size": 1,
    "num_inducing": 1,
    "patience": 1,
    "layers": 1,
    "width": 1,
    "num_sites": 1,
    "mean_inducing": 0,
    "seed": 0,
}
"""Whole numbers that may be left out, and the least they may be."""


def check_options(given: Options, ways: tuple[str, ...] = ("joint", "from-elbo")) -> None:
    """Refuse values that mean nothing, and options that are about nothing.

    `ways` are the names that `hyperparameters` may have, beside a `FittedGP`.
    """
    for name, choices in _CHOICES.items():
        if name in given:
            check_choice(name, given[name], choices)
    if not isinstance(given["hyperparameters"], FittedGP):
        check_choice("hyperparameters", given["hyperparameters"], ways)
    check_amounts(given)
    check_counts(given)
    check_folder(given.get("checkpoint"))
    beta, seen = given["beta"], given["validation"]
    check_beta(beta, given["beta_grid"])
    if given.get("patience") is not None and seen is None and beta != "auto":
        raise DirectGPError("patience needs held-out rows to look at; give validation=0.1 too")
    check_idle(given)


def check_amounts(given: Options) -> None:
    """Refuse rates, epochs and seconds that are no finite numbers above 0; None is none yet."""
    for name, (kind, use) in _AMOUNTS.items():
        value = given.get(name)
        if value is not None and not (isinstance(value, Real) and 0 < float(value) < math.inf):
            raise DirectGPError(f"{name} must be a {kind} above 0, got {value!r}; use e.g. {use}")
    rate = given.get("learning_rate")
    if rate is not None and rate > _FASTEST:
        raise DirectGPError(
            f"learning_rate must be at most {_FASTEST:g}, got {rate!r}: a step would change "
            f"length-scales by a factor of e^{float(rate):g}, and nothing is learned; use e.g. 0.05"
        )


def check_counts(given: Options) -> None:
    """Refuse what should be whole numbers and is not."""
    for name, least in _COUNTS.items():
        value = given.get(name)
        if value is not None and not (isinstance(value, Integral) and int(value) >= least):
            raise DirectGPError(f"{name} must be a whole number ≥ {least}, got {value!r}")


def check_folder(checkpoint: str | os.PathLike[str] | None) -> None:
    """Refuse checkpoints that would have to lie in a file."""
    if checkpoint is None:
        return
    folder = Path(checkpoint)
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if there.exists() and not there.is_dir():
        raise DirectGPError(
            f"checkpoint must name a folder, got {str(folder)!r}, and {str(there)!r} is a file; "
            "name a folder, which need not be there yet"
        )


def check_beta(beta: Any, grid: list[float] | None, *, solved: bool = False) -> None:
    """Refuse weights of the divergence that mean nothing.

    Where q(u) is `solved` for there must be a divergence: without one it has no single optimum.
    """
    if beta != "auto" and not (isinstance(beta, Real) and 0 <= float(beta) < math.inf):
        raise DirectGPError(f"beta must be 'auto' or a number ≥ 0, got {beta!r}")
    if grid is not None:
        check_grid(grid)
    tried = (grid or []) if beta == "auto" else [beta]
    if solved and not all(float(value) > 0 for value in tried):
        asked = f"beta={beta!r}" if beta != "auto" else f"beta_grid={grid}"
        raise DirectGPError(
            f"q(u) of a square loss or a collapsed objective is solved for, which needs beta above "
            f"0, got {asked}; use e.g. 0.01"
        )


# ---------------------------------------------------------------- options about nothing

USUAL: Options = {
    "kernel": "matern52",
    "mean": "zero",
    "num_inducing": None,
    "mean_field": None,
    "layers": Structure.layers,
    "width": Structure.width,
    "deep": Structure.deep,
    "num_sites": Structure.sites,
    "quadrature": Structure.quadrature,
    "skip": Structure.skip,
    "own_kernels": Structure.own_kernels,
    "features": Structure.features,
    "feature_widths": Structure.feature_widths,
    "mean_inducing": Structure.mean_inducing,
    "beta": "auto",
    "beta_grid": None,
    "hyperparameters": "joint",
    "start": None,
}
"""What these options of `fit` are when nobody says."""


class _Subject(NamedTuple):
    """Options about one thing, and whether the others leave it out."""

    names: tuple[str, ...]
    missing: Callable[[Options], bool]
    words: str


def _lends(options: Options) -> bool:
    return isinstance(options["hyperparameters"], FittedGP)


_PRIOR = (
    "kernel", "mean", "num_inducing", "layers", "width", "deep", "num_sites", "quadrature", "skip",
    "own_kernels", "features", "feature_widths", "mean_inducing",
)  # fmt: skip
_SUBJECTS = (
    _Subject(
        ("mean_field", *_PRIOR),
        lambda options: options["start"] is not None,
        "about a new model, and start brings its own; leave out one of them",
    ),
    _Subject(
        ("hyperparameters",),
        lambda options: options["start"] is not None and _lends(options),
        "about another prior, and start brings its own; leave out one of them",
    ),
    _Subject(
        _PRIOR,
        _lends,
        "about a new prior, and the fit given as hyperparameters lends its own; leave out one of "
        "them",
    ),
    _Subject(
        ("width", "deep", "num_sites", "quadrature", "skip"),
        lambda options: options["layers"] == 1,
        "about inner layers, and 1 layer has none; layers=2",
    ),
    _Subject(
        ("own_kernels",),
        lambda options: options["layers"] == 1 and options.get("mixing") is None,
        "about inner layers or several outputs, and here are none; layers=2, or fit_outputs",
    ),
    _Subject(
        ("quadrature",),
        lambda options: options["deep"] == "samples",
        "about sigma points, and samples have none; deep='sigma-points'",
    ),
    _Subject(
        ("feature_widths",),
        lambda options: options["features"] is None,
        "about a network in front, and here there is none; features='mlp'",
    ),
    _Subject(
        ("beta_grid",),
        lambda options: options["beta"] != "auto",
        "about the choice of beta, and here it is given; beta='auto'",
    ),
)


def check_idle(options: Options) -> None:
    """Refuse options that would be taken no notice of, and say why."""
    idle = _idle(options)
    if idle:
        name, words = next(iter(idle.items()))
        given = f"{name}={options[name]!r}"
        short = len(given) <= 60 and "\n" not in given  # a kernel may be printed on many lines
        raise DirectGPError(f"{given if short else name} is {words}")


def without_idle(options: Options) -> dict[str, Any]:
    """The options less those about nothing: for what is said once for several fits."""
    idle = _idle(options)
    return {name: value for name, value in options.items() if name not in idle}


def _idle(options: Options) -> dict[str, str]:
    known = {**USUAL, **options}
    return {
        name: subject.words
        for subject in reversed(_SUBJECTS)  # the first has the last word
        if subject.missing(known)
        for name in subject.names
        if not _same(known[name], USUAL[name])
    }


def _same(value: Any, usual: Any) -> bool:
    return tuple(value) == usual if isinstance(usual, tuple) else bool(value == usual)


# ---------------------------------------------------------------- how long


def default_epochs(num_rows: int, batch_size: int = BATCH_SIZE) -> float | int:
    """Passes over rows that are more than a batch: 60, or as many as make 1000 steps."""
    return max(_EPOCHS, _LEAST_STEPS / (num_rows // batch_size))


def settings_for(
    num_rows: int,
    epochs: float | int | None,
    max_steps: int | None,
    batch_size: int | None,
    learning_rate: float | int,
    patience: int | None,
    seed: int,
) -> Settings:
    """Steps of all rows where they fit into one batch, else epochs of batches.

    What is about the other of the two is refused, unless both are said: for tables of any size.
    """
    if batch_size is None or batch_size >= num_rows:
        if epochs is not None and max_steps is None:
            raise DirectGPError(
                f"epochs={epochs:g} is about mini-batches, and the {num_rows} training rows are "
                "one batch; give max_steps instead, or both for tables of any size"
            )
        steps = MAX_STEPS if max_steps is None else max_steps
        return full_batch(steps, learning_rate, patience=patience, seed=seed)
    if max_steps is not None and epochs is None:
        raise DirectGPError(
            f"max_steps={max_steps} is about full batches, and the {num_rows} training rows come "
            f"in batches of {batch_size}; give epochs instead, or both for tables of any size"
        )
    per_epoch = num_rows // batch_size
    epochs = default_epochs(num_rows, batch_size) if epochs is None else epochs
    steps = max(1, round(epochs * per_epoch))
    chunk = min(max(min(per_epoch, steps), 20), 100)
    return Settings(steps, batch_size, learning_rate, chunk=chunk, seed=seed, patience=patience)


def full_batch(
    steps: int, learning_rate: float | int, *, patience: int | None = None, seed: int = 0
) -> Settings:
    """Steps that see all rows, in chunks of equal length and at most 50.

    >>> [full_batch(steps, 0.05).chunk for steps in (1, 50, 120, 2000)]
    [1, 50, 40, 50]
    """
    chunk = math.ceil(steps / math.ceil(steps / _CHUNK))
    return Settings(steps, None, learning_rate, chunk=chunk, seed=seed, patience=patience)
