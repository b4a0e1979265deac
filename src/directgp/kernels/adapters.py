"""Adapters for the kernels of other libraries, tinygp and GPJax.

>>> from tinygp import kernels
>>> kernel = from_tinygp(2.0 * kernels.Matern52(1.5, distance=kernels.distance.L2Distance()))

The result is an ordinary `Kernel`: it can be added to and multiplied with others, and its
parameters are learned. The other library computes the matrices; it is imported only when its
adapter is called.
"""

import dataclasses
import importlib
import numbers
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float

from directgp.errors import DirectGPError, MissingPackage, WrongType
from directgp.kernels.base import Kernel
from directgp.kernels.soundness import check_sound
from directgp.parameters import float64, frozen, positive, unwrap

_ADVICE = "use a kernel of directgp, e.g. kernel='matern52'"
_ADVICE_ON_TINYGP = (
    "give a Matérn or rational quadratic kernel of tinygp distance=tinygp.kernels.distance."
    f"L2Distance() (its default is for one column), or {_ADVICE}"
)


class Adapted(Kernel):
    """A kernel of another library."""

    kernel: eqx.AbstractVar[Any]

    @property
    def label(self) -> str:
        return type(self.kernel).__name__


class FromTinyGP(Adapted):
    """A tinygp kernel with its parameters wrapped by `parameters.positive`; see `from_tinygp`."""

    kernel: Any

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return unwrap(self.kernel).evaluate(x, z)

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        return unwrap(self.kernel)(X, Z)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        return unwrap(self.kernel)(X)

    def check_columns(self, count: int) -> None:
        _check_columns(self, self.kernel, count)
        check_sound(self, type(self.kernel).__name__, count, _ADVICE_ON_TINYGP)


class FromGPJax(Adapted):
    """A GPJax kernel, whose parameters are paramax wrappers already; see `from_gpjax`."""

    kernel: Any

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return self.matrix(x[None], z[None])[0, 0]

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        return unwrap(self.kernel).cross_covariance(X, Z)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        kernel = unwrap(self.kernel)
        return jax.vmap(lambda x: kernel.cross_covariance(x[None], x[None])[0, 0])(X)

    def check_columns(self, count: int) -> None:
        _check_columns(self, self.kernel, count)
        check_sound(self, type(self.kernel).__name__, count, _ADVICE)


@float64
def from_tinygp(kernel: Any) -> Kernel:
    """Convert a tinygp kernel to a `Kernel`.

    Every number in it is learned. Positive numbers (scales, variances) stay positive; other numbers
    and the entries of matrices are unconstrained. The power of `Polynomial` and the data of
    `Conditioned` stay fixed. Quasiseparable kernels are refused, because they need sorted scalars.

    With several input columns, give tinygp's Matérn and rational quadratic kernels an `L2Distance`:
    with the default, the L1 distance, they are not positive definite, and `fit` refuses them.
    """
    tinygp = _library("tinygp", "from_tinygp")
    kernels = tinygp.kernels
    _check_type(kernel, kernels.Kernel, "from_tinygp", "tinygp.kernels.Kernel")
    if isinstance(kernel, kernels.quasisep.Quasisep):
        raise WrongType(
            f"from_tinygp cannot use the quasiseparable kernel {type(kernel).__name__}, which is "
            "for sorted scalar inputs; use its namesake in tinygp.kernels"
        )
    special = (kernels.Polynomial, kernels.Conditioned)

    def wrap(node: Any) -> Any:
        if isinstance(node, kernels.Conditioned):
            return frozen(jax.tree.map(_as_float64, node))
        if isinstance(node, kernels.Polynomial):
            power = np.asarray(node.order).item()
            power = int(power) if float(power).is_integer() else power
            return kernels.Polynomial(power, _learned(node.scale), _learned(node.sigma))
        return _learned(node)

    return FromTinyGP(jax.tree.map(wrap, kernel, is_leaf=lambda node: isinstance(node, special)))


@float64
def from_gpjax(kernel: Any) -> Kernel:
    """Convert a GPJax kernel to a `Kernel`.

    GPJax's parameter types (`PositiveReal`, …) decide what is learned and how it is constrained;
    plain numbers in the kernel stay fixed. The value of `Constant`, which GPJax does not constrain,
    is made positive, because otherwise it would not be a kernel.
    """
    gpjax = _library("gpjax", "from_gpjax")
    kernels, parameters = gpjax.kernels, gpjax.parameters
    _check_type(kernel, kernels.AbstractKernel, "from_gpjax", "gpjax.kernels.AbstractKernel")

    def is_special(node: Any) -> bool:
        return isinstance(node, (kernels.Constant, paramax.AbstractUnwrappable))

    def wrap(node: Any) -> Any:
        if isinstance(node, kernels.Constant) and isinstance(node.constant, parameters.Real):
            value = _as_float64(node.constant.value)
            if bool(jnp.all(value > 0)):
                return eqx.tree_at(lambda k: k.constant, node, parameters.PositiveReal(value))
        if is_special(node):
            return jax.tree.map(_as_float64, node)
        return frozen(_as_float64(node)) if eqx.is_inexact_array_like(node) else node

    return FromGPJax(jax.tree.map(wrap, kernel, is_leaf=is_special))


_COLUMN_FIELDS = ("active_dims", "axis")
"""Fields by which kernels of GPJax, and `Subspace` of tinygp, select columns."""
_TERM_FIELDS = ("kernels", "kernel1", "kernel2")
"""Fields with the terms of sums and products; below a transformation columns are others."""


def _check_columns(ours: Kernel, kernel: Any, count: int) -> None:
    """Refuse inputs of `count` columns for which the other library's kernel is not defined.

    JAX clamps indices: it would use the last column instead of a missing one.
    """
    name = type(kernel).__name__
    missing = [column for column in _columns_named(kernel) if not -count <= column < count]
    if missing:
        raise DirectGPError(
            f"the kernel {name} uses column {missing[0]} (counted from 0) but its inputs have "
            f"{count} column{'s' if count > 1 else ''}; choose existing columns"
        )
    try:
        jax.eval_shape(lambda X: ours.matrix(X, X), jax.ShapeDtypeStruct((2, count), jnp.float64))
    except (TypeError, ValueError, IndexError) as error:
        why = str(error).strip().splitlines()[0]
        raise DirectGPError(
            f"the kernel {name} cannot be evaluated at inputs with {count} columns ({why}); check "
            "its columns, and give it one length-scale for each of them or one for all"
        ) from error


def _columns_named(node: Any) -> Iterator[int]:
    if isinstance(node, (tuple, list)):
        for part in node:
            yield from _columns_named(part)
    elif isinstance(node, eqx.Module):
        for field in dataclasses.fields(node):
            value = getattr(node, field.name)
            if field.name in _TERM_FIELDS:
                yield from _columns_named(value)
            elif field.name in _COLUMN_FIELDS:
                named = value if isinstance(value, (tuple, list)) else [value]
                yield from (column for column in named if isinstance(column, int))


def _library(name: str, function: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        message = f"{function} needs {name}, which is not installed; run: pip install {name}"
        raise MissingPackage(message) from None


def _check_type(kernel: Any, expected: type, function: str, name: str) -> None:
    if not isinstance(kernel, expected):
        given = f"{type(kernel).__module__}.{type(kernel).__qualname__}"
        raise WrongType(f"{function} takes a {name}, got {given}; directgp's own need no adapter")


def _as_float64(leaf: Any) -> Any:
    return jnp.asarray(leaf, jnp.float64) if eqx.is_inexact_array_like(leaf) else leaf


def _learned(leaf: Any) -> Any:
    """A number as a learned parameter: positive if it is a positive scalar or vector."""
    if isinstance(leaf, bool) or not (
        isinstance(leaf, numbers.Real) or eqx.is_inexact_array_like(leaf)
    ):
        return leaf
    value = jnp.asarray(leaf, jnp.float64)
    return positive(value) if value.ndim < 2 and bool(jnp.all(value > 0)) else value
