"""The power plant of `lossem` Fig. 1: decisions under three Gaussian approximations.

    python -m experiments.power_plant picture.png

The temperature θ of a plant has a bimodal posterior, with the smaller mode above the critical
temperature. The actions are to keep it running, at the risk of a meltdown, or to shut it down. The
Gaussian approximations are

    q₁, minimal KL(q ‖ p)    at the large mode, with almost no probability of danger
    q₂, minimal KL(p ‖ q)    with the posterior's mean and variance, and too thin a tail
    q₃, minimal d_L(p ‖ q)   minimal KL(p ‖ q) among those with p's probability of danger
"""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.special import logsumexp, ndtr, ndtri
from scipy.stats import norm

from directgp.linalg.optimise import minimize, minimize_scalar
from directgp.plots import COLOURS

_GRID = np.linspace(40.0, 140.0, 20_001)


@dataclass(frozen=True)
class Plant:
    """The posterior Σ_i weight_i N(mean_i, std_i²) of the temperature, and the costs."""

    weights: tuple[float, ...] = (0.85, 0.15)
    means: tuple[float, ...] = (80.0, 103.0)
    stds: tuple[float, ...] = (6.0, 3.0)
    critical: float = 100.0
    meltdown: float = 10.0
    shutdown: float = 1.0

    def log_prob(self, theta: Float[np.ndarray, "*B"]) -> Float[np.ndarray, "*B"]:
        """Log p(θ)."""
        parts = [
            np.log(w) + norm.logpdf(theta, m, s)
            for w, m, s in zip(self.weights, self.means, self.stds, strict=True)
        ]
        return np.asarray(logsumexp(np.stack(parts), axis=0))

    def cdf(self, theta: Float[np.ndarray, "*B"]) -> Float[np.ndarray, "*B"]:
        """P(temperature ≤ θ)."""
        parts = zip(self.weights, self.means, self.stds, strict=True)
        return np.asarray(sum(w * ndtr((theta - m) / s) for w, m, s in parts))

    @property
    def danger(self) -> float:
        """P(θ > critical)."""
        return 1.0 - float(self.cdf(np.array(self.critical)))

    def runs(self, danger: float) -> bool:
        """Whether the Bayes action for this probability of danger is to keep it running."""
        return self.meltdown * danger < self.shutdown

    def risk(self, running: bool) -> float:
        """R_p(action): the expected cost under the true posterior (`lossem` eq. 2)."""
        return self.meltdown * self.danger if running else self.shutdown


@dataclass(frozen=True)
class Belief:
    """A Gaussian approximation of the posterior."""

    name: str
    mean: float
    std: float

    def danger(self, critical: float) -> float:
        """Q(θ > critical)."""
        return float(ndtr((self.mean - critical) / self.std))


def mode_seeking(plant: Plant) -> Belief:
    """q₁ = arg min KL(q ‖ p), started on the largest hump."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / weights.sum()

    def divergence(numbers: np.ndarray) -> float:
        mean, std = numbers[0], np.exp(numbers[1])
        cross = weights @ plant.log_prob(mean + std * nodes)
        return float(-numbers[1] - cross)

    largest = int(np.argmax(plant.weights))
    start = np.array([plant.means[largest], np.log(plant.stds[largest])])
    found = minimize(divergence, start, method="Nelder-Mead", options={"xatol": 1e-8}).x
    return Belief("q₁: least KL(q ‖ p)", float(found[0]), float(np.exp(found[1])))


def moment_matching(plant: Plant) -> Belief:
    """q₂ = arg min KL(p ‖ q): the posterior's own mean and variance."""
    w, m, s = (np.array(part) for part in (plant.weights, plant.means, plant.stds))
    mean = float(w @ m)
    return Belief("q₂: least KL(p ‖ q)", mean, float(np.sqrt(w @ (s**2 + (m - mean) ** 2))))


def loss_calibrated(plant: Plant) -> Belief:
    """q₃: minimal KL(p ‖ q) among Gaussians with p's chance of danger, so d_L(p ‖ q₃) = 0."""
    matched = moment_matching(plant)
    z = float(ndtri(plant.danger))  # mean = critical + z·std keeps the chance of danger

    def cross_entropy(log_std: float) -> float:
        std = np.exp(log_std)
        gap = matched.mean - (plant.critical + z * std)
        return float(log_std + 0.5 * (matched.std**2 + gap**2) / std**2)

    log_std = minimize_scalar(cross_entropy, bracket=(0.0, np.log(matched.std))).x
    std = float(np.exp(log_std))
    return Belief("q₃: least d_L(p ‖ q)", plant.critical + z * std, std)


def beliefs(plant: Plant) -> tuple[Belief, Belief, Belief]:
    """The three Gaussians of the figure."""
    return mode_seeking(plant), moment_matching(plant), loss_calibrated(plant)


def excess_risk(plant: Plant, belief: Belief) -> float:
    """d_L(p ‖ q) = R_p(h_q) − R_p(h_p) (`lossem` eq. 5)."""
    chosen = plant.runs(belief.danger(plant.critical))
    return plant.risk(chosen) - min(plant.risk(True), plant.risk(False))


def report(plant: Plant) -> list[str]:
    """A line for the posterior and each approximation: danger, action and excess risk."""
    lines = [f"posterior: danger {plant.danger:.3f}, {_say(plant.runs(plant.danger))}"]
    for belief in beliefs(plant):
        danger = belief.danger(plant.critical)
        lines.append(
            f"{belief.name}: N({belief.mean:.1f}, {belief.std:.1f}²), danger {danger:.3f}, "
            f"{_say(plant.runs(danger))}, d_L {excess_risk(plant, belief):.3f}"
        )
    return lines


def picture(plant: Plant | None = None) -> Figure:
    """Densities above, cdfs below, the critical temperature across both (`lossem` Fig. 1)."""
    plant = Plant() if plant is None else plant
    figure = Figure(figsize=(7.0, 6.0), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    danger = plant.danger
    name = f"posterior: {_say(plant.runs(danger))} ({danger:.1%} danger)"
    top.plot(_GRID, np.exp(plant.log_prob(_GRID)), color=COLOURS["black"], label=name)
    bottom.plot(_GRID, plant.cdf(_GRID), color=COLOURS["black"])
    styles = zip(("vermilion", "blue", "green"), (":", "--", "-."), strict=True)
    for belief, (colour, dashes) in zip(beliefs(plant), styles, strict=True):
        q: Any = norm(belief.mean, belief.std)
        danger = belief.danger(plant.critical)
        label = f"{belief.name}: {_say(plant.runs(danger))} ({danger:.1%} danger)"
        top.plot(_GRID, q.pdf(_GRID), dashes, color=COLOURS[colour], label=label)
        bottom.plot(_GRID, q.cdf(_GRID), dashes, color=COLOURS[colour])
    for axes in (top, bottom):
        axes.axvline(plant.critical, color="#555555", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    limit = 1.0 - plant.shutdown / plant.meltdown
    bottom.plot(plant.critical, limit, "o", color="#555555", markersize=5)
    bottom.annotate(
        "a curve below this dot at the\ncritical temperature: shut down",
        (plant.critical, limit),
        xytext=(8, -34),
        textcoords="offset points",
        fontsize=8,
    )
    top.set(ylabel="density", xlim=(50, 125), title="One posterior, three Gaussians, two actions")
    top.set_ylim(0, 0.105)  # room for the legend
    top.legend(frameon=False, fontsize=8, loc="upper left")
    bottom.set(xlabel="temperature θ", ylabel="P(temperature ≤ θ)", ylim=(0, 1.02))
    return figure


def _say(running: bool) -> str:
    return "keep running" if running else "shut down"


def main(path: str = "power_plant.png") -> None:
    """Print the report and write the picture."""
    print("\n".join(report(Plant())))
    picture().savefig(path, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:2])
