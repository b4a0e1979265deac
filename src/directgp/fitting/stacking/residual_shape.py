"""The distribution of standardised errors: a small mixture of Gaussians, fitted by EM.

It is fitted to out-of-fold errors, so the predictive distribution, still a mixture of Gaussians,
has the tails and the skewness of the data.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, roots_genlaguerre

_LOG_ROOT_2PI = 0.5 * float(np.log(2.0 * np.pi))
_START = np.array([0.4, 0.8, 1.3, 2.5])
_PSEUDO = np.array([-1.9, -1.2, -0.6, -0.2, 0.2, 0.6, 1.2, 1.9])
"""Pseudo-errors of a standard Gaussian, with a total weight of `_PRIOR_ROWS`."""
_PRIOR_ROWS = 5.0
_CENTRED = 3.0
"""Weight of pseudo-errors at 0 in the mean of each component."""
_STEPS = 150
_NODES = 8
"""Nodes of the quadrature for few rows."""
_LEAST = 0.1
"""Lower limit of the deviation of a component, for rows that are predicted perfectly."""


class ResidualShape(NamedTuple):
    """p(z) = Σ_k weight_k N(z; centre_k, deviation_k²) for standardised errors z."""

    weight: Float[np.ndarray, "K"]
    centre: Float[np.ndarray, "K"]
    deviation: Float[np.ndarray, "K"]

    @classmethod
    def gaussian(cls) -> "ResidualShape":
        """The standard Gaussian."""
        return cls(np.ones(1), np.zeros(1), np.ones(1))

    @classmethod
    def of_few(cls, rows: int) -> "ResidualShape":
        """Student's t with one degree of freedom per row, because the deviation is uncertain.

        It is a Gaussian with gamma-distributed precision, approximated as a mixture with eight
        nodes of Gauss–Laguerre quadrature.

        Args:
            rows: from which the deviation is estimated.

        >>> shape = ResidualShape.of_few(5)
        >>> np.exp(shape.log_density(np.array([0.0, 3.0]))).round(3).tolist()
        [0.38, 0.017]
        """
        nodes, weight = roots_genlaguerre(_NODES, 0.5 * rows - 1.0)
        deviation = np.sqrt(0.5 * rows / nodes)
        return cls(weight / weight.sum(), np.zeros(_NODES), deviation)

    @classmethod
    def fit(cls, z: Float[np.ndarray, "N"], row_weight: Float[np.ndarray, "N"]) -> "ResidualShape":
        """Maximum likelihood with a few pseudo-errors of a standard Gaussian.

        Errors are clipped at the root of their number, because a single large error would shift the
        mean of the mixture.

        Args:
            z: standardised errors.
            row_weight: of the rows.
        """
        farthest = float(np.sqrt(row_weight.sum()))
        values = np.concatenate([np.clip(z, -farthest, farthest), _PSEUDO])
        share = np.concatenate([row_weight, np.full(len(_PSEUDO), _PRIOR_ROWS / len(_PSEUDO))])
        weight = np.full(len(_START), 1.0 / len(_START))
        centre, deviation = np.zeros(len(_START)), _START.copy()
        for _ in range(_STEPS):
            owned = cls(weight, centre, deviation)._log_parts(values)
            owned -= np.max(owned, axis=0)
            np.exp(owned, out=owned)
            owned *= share / np.sum(owned, axis=0)
            count = np.sum(owned, axis=1) + 1e-9
            weight = count / np.sum(count)
            centre = owned @ values / (count + _CENTRED)
            squares = np.einsum("kn,kn->k", owned, (values - centre[:, None]) ** 2)
            deviation = np.maximum(np.sqrt((squares + 0.125) / (count + 0.5)), _LEAST)
        return cls(weight, centre, deviation)

    def log_density(self, z: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
        """Log p(z)."""
        return np.asarray(logsumexp(self._log_parts(z), axis=0))

    def _log_parts(self, z: Float[np.ndarray, "N"]) -> Float[np.ndarray, "K N"]:
        offset = np.log(self.weight) - np.log(self.deviation) - _LOG_ROOT_2PI
        parts = (z - self.centre[:, None]) / self.deviation[:, None]
        parts *= parts
        parts *= -0.5
        parts += offset[:, None]
        return parts
