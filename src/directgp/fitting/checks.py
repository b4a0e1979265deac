"""Checks of single options: each refuses a value with a line that says what to give instead."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directgp.errors import DirectGPError
from directgp.training.select_beta import check_grid

_LARGEST = 2**31
"""Whole numbers are below this: larger ones are typing errors."""


def plain_number(value: Any) -> Any:
    """A NumPy scalar as the Python number it stands for; anything else as it is.

    >>> plain_number(np.int64(3)), plain_number(None)
    (3, None)
    """
    return value.item() if isinstance(value, np.generic) else value


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices, and name them."""
    if value not in choices:
        raise DirectGPError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Refuse what is not a whole number of at least `least`.

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
    """Refuse what is not a finite number above 0; `use` is what the error proposes.

    >>> check_amount("time_budget", 0, "number of seconds", 60)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: time_budget must be a number of seconds above 0, got 0; ...
    """
    if not (isinstance(value, Real) and 0 < float(value) < math.inf):
        raise DirectGPError(f"{name} must be a {kind} above 0, got {value!r}; use e.g. {use}")


def check_switch(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise DirectGPError(f"{name} must be True or False, got {value!r}")


def check_folder(name: str, value: Any) -> None:
    """Refuse a folder that would have to lie in a file."""
    folder = Path(value)
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if there.exists() and not there.is_dir():
        raise DirectGPError(
            f"{name} must name a folder, got {str(folder)!r}, and {str(there)!r} is a file; "
            "name a folder, which need not be there yet"
        )


Beta = float | int | Literal["auto"] | Sequence[float | int] | np.ndarray
"""The weight of the divergence: a number, several to choose from, or "auto"."""


def beta_and_grid(beta: Any) -> tuple[float | int | Literal["auto"], list[float | int] | None]:
    """The weight β, or "auto" and the values that are to be tried (None: the default grid).

    >>> beta_and_grid(0.5), beta_and_grid("auto"), beta_and_grid((1.0, 0.1))
    ((0.5, None), ('auto', None), ('auto', [1.0, 0.1]))
    """
    if isinstance(beta, list | tuple | np.ndarray):
        grid = [plain_number(value) for value in beta]
        if not all(isinstance(value, Real) for value in grid):
            raise DirectGPError(f"the grid of beta needs finite values ≥ 0, got {grid}")
        check_grid(grid)
        return "auto", grid
    if isinstance(beta, str) and beta == "auto":
        return "auto", None
    if not (isinstance(beta, Real) and 0 <= float(beta) < math.inf):
        raise DirectGPError(
            f"beta must be 'auto' or a number ≥ 0 (or several of them to choose from), got {beta!r}"
        )
    return plain_number(beta), None


def check_positive_beta(
    beta: float | int | Literal["auto"], grid: list[float | int] | None
) -> None:
    """Refuse β = 0 where q(u) is solved for: without a divergence it has no single optimum."""
    tried = (grid or []) if beta == "auto" else [beta]
    if not all(float(value) > 0 for value in tried):
        raise DirectGPError(
            f"q(u) of a square loss or a collapsed objective is solved for, which needs beta above "
            f"0, got beta={beta if grid is None else grid!r}; use e.g. 0.01"
        )
