"""The joint distribution of several outputs at each row, where it is a mixture of Gaussians."""

from typing import Any, final

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from directgp.predictive.base import check_num_samples
from directgp.predictive.gaussian import GaussianMixture
from directgp.predictive.joint import JointPredictive, check_output_rows

_LOG_2PI = np.log(2.0 * np.pi)


@final
class JointGaussianMixture(JointPredictive):
    """A mixture of S Gaussians over the vector y, for Gaussian noise, in closed form.

        p(y) = Σ_s w_s N(y; A μ_s + b, A diag(v_s) Aᵀ + diag(noise))

    >>> p = JointGaussianMixture(
    ...     means=np.zeros((1, 1, 1)), variances=np.ones((1, 1, 1)),     # one latent function
    ...     mixing=np.array([[1.0], [-2.0]]), log_weights=np.zeros(1),   # of which both outputs are
    ...     noise=np.array([0.1, 0.1]), shift=np.zeros(2),
    ... )
    >>> p.covariance.tolist()
    [[[1.1, -2.0], [-2.0, 4.1]]]
    """

    noise: Float[np.ndarray, "T"]
    shift: Float[np.ndarray, "T"]

    def __init__(
        self, means: Any, variances: Any, mixing: Any, log_weights: Any, noise: Any, shift: Any
    ) -> None:
        super().__init__(means, variances, mixing, log_weights)
        self.noise, self.shift = np.asarray(noise), np.asarray(shift)

    @property
    def marginals(self) -> tuple[GaussianMixture, ...]:
        """The marginal distribution of each output, as returned by `predict`."""
        means = self.means @ self.mixing.T + self.shift
        variances = self.variances @ (self.mixing**2).T + self.noise
        return tuple(
            GaussianMixture(means[..., t], variances[..., t], self._log_weights)
            for t in range(self.num_outputs)
        )

    @property
    def covariance(self) -> Float[np.ndarray, "N T T"]:
        """Σ_s w_s (C_s + (m_s − E[y])(m_s − E[y])ᵀ), C_s the covariance of a component."""
        weights = np.exp(self._log_weights)
        latent = np.tensordot(weights, self.variances, 1)
        within = np.einsum("tq,nq,uq->ntu", self.mixing, latent, self.mixing)
        offsets = (self.means - np.tensordot(weights, self.means, 1)) @ self.mixing.T
        between = np.einsum("s,snt,snu->ntu", weights, offsets, offsets)
        return within + between + np.diag(self.noise)

    def log_prob(self, Y: Any) -> Float[np.ndarray, "N"]:
        """Log p(y_1, …, y_T) at each row, of the outputs that are not NaN; 0 where all are.

        >>> alone = JointGaussianMixture(*map(np.asarray, (
        ...     np.zeros((1, 1, 2)), np.ones((1, 1, 2)), np.eye(2), [0.0], [1.0, 1.0], [0.0, 0.0]
        ... )))
        >>> apart = alone.log_prob([[1.0, np.nan]]) + alone.log_prob([[np.nan, 2.0]])
        >>> float(abs(apart - alone.log_prob([[1.0, 2.0]]))[0]) < 1e-12
        True
        """
        Y, measured = check_output_rows(Y, len(self), self.num_outputs)
        found = np.empty(len(self))
        size, outputs = len(self.means), self.num_outputs
        for rows in self._blocks(size * outputs**2):
            known = measured[rows]
            within = np.einsum(
                "tq,snq,uq->sntu", self.mixing, self.variances[:, rows], self.mixing, optimize=True
            )
            both = known[:, :, None] & known[:, None, :]
            covariance = np.where(both, within + np.diag(self.noise), np.eye(outputs))
            residual = Y[rows] - (self.means[:, rows] @ self.mixing.T + self.shift)
            logs = _log_normal(np.where(known, residual, 0.0), covariance)
            logs = logs - 0.5 * _LOG_2PI * known.sum(axis=1)
            found[rows] = logsumexp(logs + self._log_weights[:, None], axis=0)
        return found

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N T"]:
        """See `JointPredictive.sample`."""
        check_num_samples(num_samples)
        generator = np.random.default_rng(seed)
        f = self._draws(num_samples, generator) + self.shift
        return f + np.sqrt(self.noise) * generator.standard_normal(f.shape)

    def affine(self, scale: Any, shift: Any) -> "JointGaussianMixture":
        """See `JointPredictive.affine`."""
        scale, shift = np.asarray(scale, np.float64), np.asarray(shift, np.float64)
        return JointGaussianMixture(
            self.means,
            self.variances,
            scale[:, None] * self.mixing,
            self._log_weights,
            scale**2 * self.noise,
            scale * self.shift + shift,
        )

    def __getitem__(self, rows: Any) -> "JointGaussianMixture":
        parts = self.mixing, self._log_weights, self.noise, self.shift
        return JointGaussianMixture(*self._taken(rows), *parts)


def _log_normal(
    residual: Float[np.ndarray, "*B T"], covariance: Float[np.ndarray, "*B T T"]
) -> Float[np.ndarray, "*B"]:
    """−½ rᵀC⁻¹r − ½ log|C|, by forward substitution through the Cholesky factor."""
    factor = np.linalg.cholesky(covariance)
    scaled = np.zeros_like(residual)
    for t in range(residual.shape[-1]):
        known = np.sum(factor[..., t, :t] * scaled[..., :t], axis=-1)
        scaled[..., t] = (residual[..., t] - known) / factor[..., t, t]
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    return -0.5 * np.sum(scaled**2, axis=-1) - np.sum(np.log(diagonal), axis=-1)
