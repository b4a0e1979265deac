"""Validation of single options; errors name the option, the value and the allowed values."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directgp.errors import DirectGPError
from directgp.training.select_beta import check_grid

_LARGEST = 2**31
"""Upper bound of integer options; larger values are assumed to be typing errors."""


def plain_number(value: Any) -> Any:
    """Convert a NumPy scalar to a Python number; return anything else unchanged.

    >>> plain_number(np.int64(3)), plain_number(None)
    (3, None)
    """
    return value.item() if isinstance(value, np.generic) else value


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise an error unless `value` is one of `choices`.

    Args:
        name: of the option.
        value: given by the user.
        choices: the allowed values.
    """
    if value not in choices:
        raise DirectGPError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Raise an error unless `value` is an integer ≥ `least`.

    Args:
        name: of the option.
        value: given by the user.
        least: the smallest allowed value.

    >>> check_count("width", 0)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: width must be a whole number ≥ 1, got 0
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and int(value) >= least):
        raise DirectGPError(f"{name} must be a whole number ≥ {least}, got {value!r}")
    if int(value) >= _LARGEST:
        raise DirectGPError(f"{name} must be a whole number below 2147483648, got {value!r}")


def check_amount(name: str, value: Any, kind: str = "number", use: float | int = 1) -> None:
    """Raise an error unless `value` is a finite number above 0; the message suggests `use`.

    Args:
        name: of the option.
        value: what was given.
        kind: what it counts, for the message.
        use: an example for the message.

    >>> check_amount("time_budget", 0, "number of seconds", 60)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: time_budget must be a number of seconds above 0, got 0; ...
    """
    if not (isinstance(value, Real) and 0 < float(value) < math.inf):
        raise DirectGPError(f"{name} must be a {kind} above 0, got {value!r}; use e.g. {use}")


def check_switch(name: str, value: Any) -> None:
    """Raise an error unless `value` is True or False.

    Args:
        name: of the option.
        value: given by the user.
    """
    if not isinstance(value, bool | np.bool_):
        raise DirectGPError(f"{name} must be True or False, got {value!r}")


def check_folder(name: str, value: Any) -> None:
    """Raise an error if the path of a folder, or one of its parents, is a file.

    Args:
        name: of the option.
        value: the path.
    """
    folder = Path(value)
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if there.exists() and not there.is_dir():
        raise DirectGPError(
            f"{name} must name a folder, got {str(folder)!r}, but {str(there)!r} is a file; "
            "name a folder, which need not exist yet"
        )


Beta = float | int | Literal["auto", "pac-bayes"] | Sequence[float | int] | np.ndarray
"""The weight of the divergence: a number, a grid of numbers, "auto" or "pac-bayes"."""
Weight = float | int | Literal["auto", "pac-bayes"]
"""The weight of the divergence without a grid."""


def beta_and_grid(beta: Any) -> tuple[Weight, list[float | int] | None]:
    """Split the option `beta` into a fixed weight or "auto", and the grid for "auto".

    The grid is None if the default grid is to be used.

    >>> beta_and_grid(0.5), beta_and_grid("auto"), beta_and_grid((1.0, 0.1))
    ((0.5, None), ('auto', None), ('auto', [1.0, 0.1]))
    """
    if isinstance(beta, list | tuple | np.ndarray):
        grid = [plain_number(value) for value in beta]
        if not all(isinstance(value, Real) for value in grid):
            raise DirectGPError(f"the grid of beta needs finite values ≥ 0, got {grid}")
        check_grid(grid)
        return "auto", grid
    if isinstance(beta, str) and beta in ("auto", "pac-bayes"):
        return beta, None
    if not (isinstance(beta, Real) and 0 <= float(beta) < math.inf):
        raise DirectGPError(
            "beta must be 'auto' or a number ≥ 0 (or several of them to choose from, or "
            f"'pac-bayes'), got {beta!r}"
        )
    return plain_number(beta), None


def weight_for(beta: Weight, num_rows: int) -> float | int | Literal["auto"]:
    """Replace "pac-bayes" by β = √n for n rows.

    PAC-Bayes bounds add KL/λ with λ = √n to the mean loss of n rows (Germain et al. 2016); for the
    sum of losses this is β = n/λ. `theory.certificates` has the bounds.

    Args:
        beta: a weight, "auto" or "pac-bayes".
        num_rows: n.

    >>> weight_for("pac-bayes", 400), weight_for(0.5, 400)
    (20.0, 0.5)
    """
    return math.sqrt(num_rows) if beta == "pac-bayes" else beta


def check_positive_beta(beta: Weight, grid: list[float | int] | None) -> None:
    """Refuse β = 0 for a closed-form q(u), whose optimum is not unique without a divergence.

    Args:
        beta: the weight, or "auto".
        grid: the candidates for "auto", if given.
    """
    tried = (grid or []) if isinstance(beta, str) else [beta]
    if not all(float(value) > 0 for value in tried):
        raise DirectGPError(
            f"the closed-form q(u) of a square loss or collapsed objective needs beta above 0, got "
            f"beta={beta if grid is None else grid!r}; use e.g. 0.01"
        )
