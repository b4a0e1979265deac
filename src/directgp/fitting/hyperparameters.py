"""Length-scales, variances and noise of a trained model in the units of the user's data.

Models are trained on standardised columns. Kernels and likelihoods convert their own parameters by
`in_units`.
"""

from collections.abc import Sequence
from typing import Any

from directgp.errors import DirectGPError
from directgp.kernels import Units
from directgp.likelihoods import Likelihood
from directgp.models import Model
from directgp.parameters import float64


def named_columns(names: Sequence[Any] | None, count: int) -> tuple[str, ...]:
    """The names of the input columns, by default their numbers, counted from 0.

    Args:
        names: given by the user, or None.
        count: the number of columns.

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


@float64
def hyperparameters(
    model: Model, likelihood: Likelihood, units: Units, noise_scale: Any
) -> dict[str, Any]:
    """All hyperparameters in the units of the data; "kernel" is None for deep models.

    Args:
        model: trained.
        likelihood: trained.
        units: names and scales of the columns.
        noise_scale: of the targets, one number or one for each output.
    """
    kernel = model.input_kernel
    numbers = {"kernel": None} if kernel is None else kernel.in_units(units)
    return numbers | likelihood.in_units(noise_scale)
