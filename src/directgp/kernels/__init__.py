"""Kernels (covariance functions).

`base` has the base class with sums, products and multiples, `stationary` RBF and Matérn, `linear`
the linear kernel, `on_columns` the choice of columns, `adapters` the kernels of tinygp and GPJax,
`soundness` the checks of user-defined kernels.
"""

from directgp.kernels.adapters import from_gpjax, from_tinygp
from directgp.kernels.base import (
    Kernel,
    Product,
    Scaled,
    Sum,
    Units,
    kernels,
    squared_distance,
)
from directgp.kernels.linear import Linear
from directgp.kernels.on_columns import OnColumns
from directgp.kernels.stationary import RBF, Matern12, Matern32, Matern52, Stationary

__all__ = [
    "RBF",
    "Kernel",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "OnColumns",
    "Product",
    "Scaled",
    "Stationary",
    "Sum",
    "Units",
    "from_gpjax",
    "from_tinygp",
    "kernels",
    "squared_distance",
]
