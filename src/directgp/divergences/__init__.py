"""Divergences of the posterior from the prior, one file each."""

from directgp.divergences.base import Divergence, PerLayer, WhitenedGaussian, divergences
from directgp.divergences.kl import KL
from directgp.divergences.renyi import Renyi
from directgp.divergences.weighted import WeightedKL

__all__ = [
    "KL",
    "Divergence",
    "PerLayer",
    "Renyi",
    "WeightedKL",
    "WhitenedGaussian",
    "divergences",
]
