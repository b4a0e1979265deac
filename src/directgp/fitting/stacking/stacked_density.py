"""The mixture of the Gaussians of all members, and its log density."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from directgp.fitting.stacking.member import Components
from directgp.predictive import GaussianMixture


def mixed(parts: Sequence[Components], weights: Float[np.ndarray, "K"]) -> Components:
    """The components of all members.

    Args:
        parts: components of every member.
        weights: of the members.
    """
    return Components(
        np.concatenate([part.mean for part in parts]),
        np.concatenate([part.deviation for part in parts]),
        np.concatenate([w * part.weight for w, part in zip(weights, parts, strict=True)]),
    )


def gaussians(part: Components) -> GaussianMixture:
    """The components as a `GaussianMixture`."""
    with np.errstate(divide="ignore"):  # weights chosen for CRPS or square loss may be 0
        logs = np.log(part.weight)
    return GaussianMixture(part.mean, part.deviation**2, logs)


def log_density(part: Components, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """Log p(y) at every row.

    Args:
        part: components of the mixture.
        y: targets.
    """
    return gaussians(part).log_prob(y)
