"""Models: priors over functions with approximate posteriors, which give q(f) at inputs."""

from directgp.models.base import Conditioned, Model
from directgp.models.decoupled import DecoupledGP
from directgp.models.deep import DeepGP, Propagation
from directgp.models.deep_gp import Samples, deep_gp
from directgp.models.features import MLP, FeatureMap, OnFeatures, feature_maps
from directgp.models.layers import Independent
from directgp.models.means import ConstantMean, LinearMean, MeanFunction, ZeroMean
from directgp.models.multi_output import MultiOutput
from directgp.models.sigma_point import SigmaPoints, deep_sigma_points
from directgp.models.sparse_gp import SparseGP

__all__ = [
    "Conditioned",
    "ConstantMean",
    "DecoupledGP",
    "DeepGP",
    "FeatureMap",
    "Independent",
    "LinearMean",
    "MLP",
    "MeanFunction",
    "Model",
    "MultiOutput",
    "OnFeatures",
    "Propagation",
    "Samples",
    "SigmaPoints",
    "SparseGP",
    "ZeroMean",
    "deep_gp",
    "deep_sigma_points",
    "feature_maps",
]
