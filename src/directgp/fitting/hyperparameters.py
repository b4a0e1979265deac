"""Length-scales, variances and noise of a trained model in the units of the user's data.

The model has them for standardised columns; here length-scales are converted to the units of their
inputs, the variance of f to the squared units of the target.
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.kernels import Kernel, Linear, OnColumns, Product, Scaled, Stationary, Sum
from directgp.kernels.adapters import FromGPJax, FromTinyGP
from directgp.likelihoods import Gaussian, GaussianOutputs, Likelihood, StudentT
from directgp.likelihoods.negative_binomial import NegativeBinomial
from directgp.models import DecoupledGP, Model, SparseGP
from directgp.parameters import float64, unwrap


class Units(NamedTuple):
    """Scale factors from standardised units to the user's: of each input, and of the target."""

    names: tuple[str, ...]
    inputs: Float[np.ndarray, "D"]
    target: float


def named_columns(names: Sequence[Any] | None, count: int) -> tuple[str, ...]:
    """The names of the input columns, or their numbers (counted from 0).

    >>> named_columns(None, 2)
    ('column 0', 'column 1')
    """
    if names is None:
        return tuple(f"column {number}" for number in range(count))
    if len(names) != count:
        raise DirectGPError(
            f"names must name the {count} input columns, got {len(names)}; give one for each"
        )
    return tuple(str(name) for name in names)


# ---------------------------------------------------------------- kernels


@singledispatch
def kernel_name(kernel: Kernel) -> str:
    """What a kernel is made of, in short.

    >>> from directgp.kernels import RBF
    >>> kernel_name(RBF() + 2.0 * Linear())
    'RBF + Linear'
    """
    return type(kernel).__name__


@kernel_name.register(FromTinyGP)
@kernel_name.register(FromGPJax)
def _(kernel) -> str:
    return type(kernel.kernel).__name__


@kernel_name.register(Scaled)
@kernel_name.register(OnColumns)
def _(kernel) -> str:
    return kernel_name(kernel.part)


@kernel_name.register
def _(kernel: Sum) -> str:
    return " + ".join(kernel_name(part) for part in kernel.parts)


@kernel_name.register
def _(kernel: Product) -> str:
    names = (kernel_name(part) for part in kernel.parts)
    return " · ".join(f"({name})" if " + " in name else name for name in names)


@singledispatch
def kernel_numbers(kernel: Kernel, units: Units) -> dict[str, Any]:
    """The hyperparameters of a kernel in these units; for an unknown kernel, its name only."""
    return {"kernel": kernel_name(kernel)}


@kernel_numbers.register
def _(kernel: Stationary, units: Units):
    lengthscale = np.asarray(unwrap(kernel.lengthscale)) * units.inputs
    return {
        "kernel": kernel_name(kernel),
        "variance": float(unwrap(kernel.variance)) * units.target**2,
        "lengthscale": _by_name(units, lengthscale),
    }


@kernel_numbers.register
def _(kernel: Linear, units: Units):
    slope = np.sqrt(np.asarray(unwrap(kernel.variance))) * units.target / units.inputs
    return {
        "kernel": kernel_name(kernel),
        "slope_std": _by_name(units, slope),
        "level_std": float(np.sqrt(unwrap(kernel.bias))) * units.target,
    }


@kernel_numbers.register
def _(kernel: Scaled, units: Units):
    factor = float(np.sqrt(unwrap(kernel.variance)))
    return kernel_numbers(kernel.part, units._replace(target=factor * units.target))


@kernel_numbers.register
def _(kernel: OnColumns, units: Units):
    names = tuple(units.names[column] for column in kernel.columns)
    return kernel_numbers(kernel.part, Units(names, units.inputs[[*kernel.columns]], units.target))


@kernel_numbers.register
def _(kernel: Sum, units: Units):
    parts = [kernel_numbers(part, units) for part in kernel.parts]
    return {"kernel": kernel_name(kernel), "parts": parts}


@kernel_numbers.register
def _(kernel: Product, units: Units):
    first, *others = kernel.parts  # the units of the target are there once: the first has them
    parts = [kernel_numbers(part, units._replace(target=1.0)) for part in others]
    return {"kernel": kernel_name(kernel), "parts": [kernel_numbers(first, units), *parts]}


def _by_name(units: Units, values: Float[np.ndarray, "D"]) -> dict[str, float]:
    return {name: float(value) for name, value in zip(units.names, values, strict=True)}


# ---------------------------------------------------------------- models and likelihoods


@singledispatch
def kernel_of(model: Model) -> Kernel | None:
    """The kernel on the user's inputs; None for deep models and behind networks."""
    return None


@kernel_of.register
def _(model: SparseGP):
    return model.kernel


@kernel_of.register
def _(model: DecoupledGP):
    return kernel_of(model.base)


@singledispatch
def noise_numbers(likelihood: Likelihood, scale: Any) -> dict[str, Any]:
    """The parameters of a likelihood in the units of the target(s)."""
    return {}


@noise_numbers.register
def _(likelihood: Gaussian, scale: float):
    return {"noise_std": float(np.sqrt(unwrap(likelihood.noise))) * scale}


@noise_numbers.register
def _(likelihood: GaussianOutputs, scale: Any):
    return {"noise_std": (np.sqrt(np.asarray(unwrap(likelihood.noise))) * scale).tolist()}


@noise_numbers.register
def _(likelihood: StudentT, scale: Any):
    spread = np.asarray(unwrap(likelihood.scale)) * scale
    return {"noise_scale": spread.tolist(), "df": float(unwrap(likelihood.df))}


@noise_numbers.register
def _(likelihood: NegativeBinomial, scale: Any):
    return {"dispersion": float(unwrap(likelihood.dispersion))}


@float64
def hyperparameters(
    model: Model, likelihood: Likelihood, units: Units, noise_scale: Any
) -> dict[str, Any]:
    """All hyperparameters in the units of the data; "kernel" is None if it has none.

    Args:
        model: trained.
        likelihood: trained.
        units: names and scales of the columns.
        noise_scale: of the targets, one number or one for each output.
    """
    kernel = kernel_of(model)
    numbers = {"kernel": None} if kernel is None else kernel_numbers(kernel, units)
    return numbers | noise_numbers(likelihood, noise_scale)
