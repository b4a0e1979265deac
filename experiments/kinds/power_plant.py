"""`lossem` Fig. 1: three Gaussian approximations of a posterior, and their decisions."""

from pathlib import Path

import numpy as np
from scipy.stats import norm

from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.power_plant import Plant, beliefs, excess_risk

_GRID = np.linspace(50.0, 125.0, 151)


@kinds.register("power-plant")
def power_plant(record: Record, _folder: Path) -> Outcome:
    """Probability of danger, decision and excess risk d_L of the posterior and approximations."""
    plant = Plant(meltdown=float(record["meltdown"]), shutdown=float(record["shutdown"]))
    rows = [
        _row(
            "posterior",
            np.exp(plant.log_prob(_GRID)),
            plant.cdf(_GRID),
            plant.danger,
            0.0,
            plant,
        )
    ]
    for belief in beliefs(plant):
        own = belief.mean, belief.std
        danger = belief.danger(plant.critical)
        excess = excess_risk(plant, belief)
        rows.append(
            _row(belief.name, norm.pdf(_GRID, *own), norm.cdf(_GRID, *own), danger, excess, plant)
        )
    return Outcome({}, rows=rows)


def _row(name: str, density, cdf, danger: float, excess: float, plant: Plant) -> dict:
    curve = {"theta": _GRID, "density": density, "cdf": cdf}
    return {
        "labels": {"method": name},
        "scores": {"danger": danger, "excess_risk": excess, "runs": float(plant.runs(danger))},
        "curve": {
            key: [float(f"{value:.5g}") for value in values] for key, values in curve.items()
        },
    }
