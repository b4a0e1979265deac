"""Divergences: what holds the posterior to the prior, one file each."""

from directgp.divergences.base import Divergence, WhitenedGaussian
from directgp.divergences.kl import KL
from directgp.registry import Registry

divergences = Registry("divergence")
divergences.register("kl")(KL)

__all__ = ["KL", "Divergence", "WhitenedGaussian", "divergences"]
