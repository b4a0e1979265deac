"""Kinds of jobs: each one function (record, folder of the data) → `Outcome`, in a file of its own.

A kind registers itself under the name that specs use. Kinds of your own need no registration: a
spec may say kind = "module:function".
"""

from directgp.registry import Registry

kinds = Registry("kind of job")

# After the registry, which they fill.
from experiments.kinds import (  # noqa: E402
    contamination,
    fit,
    gradients,
    influence,
    learning_curve,
    loss_em_risk,
    power_plant,
    realised_cost,
    robots,
    uncertainty,
)

__all__ = [
    "contamination",
    "fit",
    "gradients",
    "influence",
    "kinds",
    "learning_curve",
    "loss_em_risk",
    "power_plant",
    "realised_cost",
    "robots",
    "uncertainty",
]
