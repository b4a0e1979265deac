"""Kernels (covariance functions).

`base` has the base class, `stationary` RBF and Matérn, `linear` the linear kernel,
`compose` sums, products, multiples and column choices, `adapters` the kernels of tinygp and GPJax,
`soundness` the checks of user-defined kernels.
"""

from directgp.kernels.adapters import from_gpjax, from_tinygp, name_the_adapter
from directgp.kernels.base import Kernel, squared_distance
from directgp.kernels.compose import OnColumns, Product, Scaled, Sum
from directgp.kernels.linear import Linear
from directgp.kernels.stationary import RBF, Matern12, Matern32, Matern52, Stationary
from directgp.registry import Registry

kernels = Registry("kernel", Kernel, name_the_adapter)
for _name, _kernel in {
    "rbf": RBF,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "linear": Linear,
}.items():
    kernels.register(_name)(_kernel)

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
    "from_gpjax",
    "from_tinygp",
    "kernels",
    "squared_distance",
]
