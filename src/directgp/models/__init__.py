"""Models: how q(f) at an input is made, one file each."""

from directgp.models.base import Conditioned, Model
from directgp.models.means import ConstantMean, MeanFunction, ZeroMean
from directgp.models.sparse_gp import SparseGP

__all__ = ["Conditioned", "ConstantMean", "MeanFunction", "Model", "SparseGP", "ZeroMean"]
