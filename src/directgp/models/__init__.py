"""Models: how q(f) at an input is made, one file each."""

from directgp.models.base import Conditioned, Model
from directgp.models.deep import Deep, Propagation
from directgp.models.deep_gp import Samples, deep_gp
from directgp.models.layers import Independent
from directgp.models.means import ConstantMean, LinearMean, MeanFunction, ZeroMean
from directgp.models.sigma_point import SigmaPoints, deep_sigma_points
from directgp.models.sparse_gp import SparseGP

__all__ = [
    "Conditioned",
    "ConstantMean",
    "Deep",
    "Independent",
    "LinearMean",
    "MeanFunction",
    "Model",
    "Propagation",
    "Samples",
    "SigmaPoints",
    "SparseGP",
    "ZeroMean",
    "deep_gp",
    "deep_sigma_points",
]
