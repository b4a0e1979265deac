"""Divergences of the posterior from the prior, one file each."""

from typing import Any

from directgp.divergences.base import Divergence, WhitenedGaussian
from directgp.divergences.kl import KL
from directgp.divergences.per_layer import PerLayer
from directgp.divergences.renyi import Renyi
from directgp.divergences.weighted import WeightedKL
from directgp.registry import Registry


def _per_layer(part: Any) -> Any:
    """Several divergences are one for each layer."""
    if isinstance(part, list | tuple):
        return PerLayer(tuple(divergences.resolve(own) for own in part))
    return part


divergences = Registry("divergence", Divergence, _per_layer)
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
