"""Values of stored parameters: plain, frozen, or behind a transform.

They are computed with NumPy, so that checking a file compiles nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import paramax

from directgp.errors import DirectGPError
from directgp.parameters import transforms

_Values = Callable[..., Any]


class Stored(NamedTuple):
    """A parameter: its raw values, and the name of its transform."""

    raw: np.ndarray
    transform: str | None = None
    arguments: tuple[Any, ...] = ()

    @property
    def values(self) -> np.ndarray:
        """The values after the transform."""
        if self.transform is None:
            return self.raw
        with np.errstate(over="ignore"):
            return np.asarray(_ON_HOST[self.transform](self.raw, *self.arguments))


def stored(value: Any) -> Stored:
    """The raw values and the transform of a parameter; other objects are an error."""
    if isinstance(value, paramax.NonTrainable):
        return stored(value.tree)
    if isinstance(value, paramax.Parameterize):
        return _behind(value)
    if isinstance(value, jax.Array | np.ndarray):
        return Stored(check_numbers(np.asarray(value)))
    if isinstance(value, float | int) and not isinstance(value, bool):
        return Stored(check_numbers(np.asarray(float(value))))
    raise DirectGPError(f"a learned number must be an array, got {type(value).__name__}")


def check_numbers(array: np.ndarray) -> np.ndarray:
    """The array, if it is float64 and finite."""
    if array.dtype != np.float64:
        raise DirectGPError(f"numbers of a model must be float64, got {array.dtype}")
    if not np.isfinite(array).all():
        raise DirectGPError("a number of the model is NaN or infinite")
    return array


def _behind(wrapper: paramax.Parameterize) -> Stored:
    names = {transforms.lookup(name): name for name in transforms}
    name = names.get(wrapper.fn) if callable(wrapper.fn) else None
    if (
        name is None
        or name not in _ON_HOST
        or wrapper.kwargs
        or not isinstance(wrapper.args, tuple)
    ):
        raise DirectGPError("a learned number has a transform that is not known")
    raw, *arguments = (stored(argument) for argument in wrapper.args)
    if raw.transform is not None or any(each.transform for each in arguments):
        raise DirectGPError("a learned number has a transform within a transform")
    _CHECKED[name](raw.raw, arguments)
    found = Stored(raw.raw, name, tuple(each.raw for each in arguments))
    if not np.isfinite(found.values).all():
        raise DirectGPError("a learned number is too large")
    return found


def _check_exp_above(raw: np.ndarray, arguments: list[Stored]) -> None:
    if len(arguments) != 1 or arguments[0].raw.ndim or arguments[0].raw < 0:
        raise DirectGPError("a positive number must have a minimum, one number ≥ 0")
    if np.any(np.exp(np.minimum(raw, 0.0)) == 0):
        raise DirectGPError("a positive number is too small")


def _check_lower(raw: np.ndarray, arguments: list[Stored]) -> None:
    if arguments or raw.ndim < 2 or raw.shape[-1] != raw.shape[-2]:
        raise DirectGPError(f"a triangular matrix must be square, got shape {raw.shape}")
    _check_exp_above(np.diagonal(raw, axis1=-2, axis2=-1), [Stored(np.zeros(()))])


def _lower(raw: np.ndarray) -> np.ndarray:
    diagonal = np.exp(np.diagonal(raw, axis1=-2, axis2=-1))
    return np.tril(raw, -1) + diagonal[..., None] * np.eye(raw.shape[-1])


_ON_HOST: dict[str, _Values] = {
    "exp-above": lambda raw, minimum: minimum + np.exp(raw),
    "lower-triangular": _lower,
}
"""`parameters.transforms` in numpy."""
_CHECKED: dict[str, Callable[[np.ndarray, list[Stored]], None]] = {
    "exp-above": _check_exp_above,
    "lower-triangular": _check_lower,
}
