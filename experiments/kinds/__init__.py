"""Kinds of jobs: functions (record, folder of the data) → `Outcome`, one file each.

Kinds are registered under the name that specs use. A spec may also name a function that is not
registered: kind = "module:function".
"""

from directgp.registry import Registry

kinds = Registry("kind of job")

# These modules use the registry above.
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
