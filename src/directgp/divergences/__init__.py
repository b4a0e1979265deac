"""Divergences: what holds the posterior to the prior, one file each."""

from directgp.divergences.base import Divergence, WhitenedGaussian
from directgp.divergences.kl import KL
from directgp.divergences.per_layer import PerLayer
from directgp.divergences.renyi import Renyi
from directgp.divergences.weighted import WeightedKL
from directgp.registry import Registry

divergences = Registry("divergence", Divergence)
divergences.register("kl")(KL)
divergences.register("weighted-kl")(WeightedKL)
divergences.register("renyi")(Renyi)

__all__ = [
    "KL",
    "Divergence",
    "PerLayer",
    "Renyi",
    "WeightedKL",
    "WhitenedGaussian",
    "divergences",
]
