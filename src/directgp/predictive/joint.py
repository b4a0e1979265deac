"""The joint distribution of several outputs at each row, with their correlations.

The outputs of a row are one vector y = (y_1, …, y_T); rows are independent. The marginals are one
`Predictive` per output.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import logsumexp

from directgp.errors import DirectGPError, WrongType
from directgp.predictive.base import Predictive, check_num_samples
from directgp.predictive.mixture import draw_components
from directgp.predictive.softmax import normal_points

_LOG_2PI = np.log(2.0 * np.pi)
_MOST_NUMBERS = 4_000_000
"""Numbers per block."""
_POINTS = 512
"""Quasi-random points of the latent values of a row, for all components together."""

Given = Callable[[int, np.ndarray, np.ndarray, np.ndarray], Predictive]
"""Maps (number of an output, mean [S N] and variance [S N] of f, log-weights [S]) to p(y)."""


class JointPredictive(ABC):
    """The distribution of the vector y [T] at each of N rows, from `FittedGP.predict_joint`."""

    means: Float[np.ndarray, "S N Q"]
    """The means of the latent functions in every component."""
    variances: Float[np.ndarray, "S N Q"]
    mixing: Float[np.ndarray, "T Q"]
    """A of f = A g, where g are the latent functions."""

    def __init__(self, means: Any, variances: Any, mixing: Any, log_weights: Any) -> None:
        self.means, self.variances = np.asarray(means), np.asarray(variances)
        self.mixing, self._log_weights = np.asarray(mixing), np.asarray(log_weights)
        if self.means.ndim != 3 or self.variances.shape != self.means.shape:
            raise DirectGPError(
                f"latent means and variances must be [S N Q], got shapes {self.means.shape} and "
                f"{self.variances.shape}"
            )
        if self.mixing.ndim != 2 or self.mixing.shape[1] != self.means.shape[2]:
            raise DirectGPError(
                f"mixing must be [T {self.means.shape[2]}], a row for each output, got shape "
                f"{self.mixing.shape}"
            )

    def __len__(self) -> int:
        return self.means.shape[1]

    @property
    def num_outputs(self) -> int:
        """The number T of outputs."""
        return len(self.mixing)

    @property
    @abstractmethod
    def marginals(self) -> tuple[Predictive, ...]:
        """The marginal distribution of each output, as returned by `predict`."""

    @property
    @abstractmethod
    def covariance(self) -> Float[np.ndarray, "N T T"]:
        """Cov[y_t, y_u] at each row, the noise included on the diagonal."""

    @abstractmethod
    def log_prob(self, Y: Any) -> Float[np.ndarray, "N"]:
        """Log p(y_1, …, y_T) of the outputs that are not NaN; 0 if all are NaN."""

    @abstractmethod
    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N T"]:
        """Draws of whole rows with correlated outputs.

        Args:
            num_samples: draws of each row.
            seed: of the random numbers; the same seed gives the same draws.
        """

    @abstractmethod
    def affine(self, scale: Any, shift: Any) -> "JointPredictive":
        """The distribution of scale_t · y_t + shift_t.

        Args:
            scale: one number per output.
            shift: one number per output.
        """

    @abstractmethod
    def __getitem__(self, rows: Any) -> "JointPredictive":
        """The joint distribution at some rows: a number, a slice, or a 1-d array."""

    @property
    def mean(self) -> Float[np.ndarray, "N T"]:
        """E[y_t] at each row."""
        return np.stack([own.mean for own in self.marginals], axis=1)

    @property
    def variance(self) -> Float[np.ndarray, "N T"]:
        """Var[y_t] at each row, the noise included."""
        return np.stack([own.variance for own in self.marginals], axis=1)

    @property
    def correlation(self) -> Float[np.ndarray, "N T T"]:
        """Cov[y_t, y_u]/(std[y_t] std[y_u]) at each row."""
        covariance = self.covariance
        std = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        return covariance / (std[:, :, None] * std[:, None, :])

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.num_outputs} outputs for {len(self)} rows"

    def _taken(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """Latent means and variances at some rows."""
        taken = np.atleast_1d(np.arange(len(self))[rows])
        return self.means[:, taken], self.variances[:, taken]

    def _blocks(self, numbers_a_row: int) -> Iterator[slice]:
        """Slices of rows for blocks of bounded memory."""
        size = max(1, _MOST_NUMBERS // max(numbers_a_row, 1))
        return (slice(first, first + size) for first in range(0, len(self), size))

    def _draws(
        self, num_samples: int, generator: np.random.Generator
    ) -> Float[np.ndarray, "num_samples N T"]:
        """Draws of f: a component by its weight, then the latent functions."""
        weights = np.exp(self._log_weights)[:, None]
        component = draw_components(weights, (num_samples, len(self)), generator)
        rows = np.arange(len(self))
        noise = generator.standard_normal((*component.shape, self.means.shape[2]))
        g = self.means[component, rows] + np.sqrt(self.variances[component, rows]) * noise
        return g @ self.mixing.T


@final
class JointMixture(JointPredictive):
    """Outputs with any common likelihood that share latent functions: counts, classes, Student-t.

    Outputs are independent given f. Marginals and draws are exact; covariances and log
    probabilities are averages over 512 quasi-random points of the latent functions.
    """

    def __init__(
        self, means: Any, variances: Any, mixing: Any, log_weights: Any, given: Given
    ) -> None:
        super().__init__(means, variances, mixing, log_weights)
        self._given = given

    @property
    def marginals(self) -> tuple[Predictive, ...]:
        """The marginal distribution of each output, as returned by `predict`."""
        means = self.means @ self.mixing.T
        variances = self.variances @ (self.mixing**2).T
        return tuple(
            self._given(t, means[..., t], variances[..., t], self._log_weights)
            for t in range(self.num_outputs)
        )

    @property
    def covariance(self) -> Float[np.ndarray, "N T T"]:
        """Cov[E[y_t | f], E[y_u | f]] off the diagonal; the variances of y_t on it."""
        found = np.empty((len(self), self.num_outputs, self.num_outputs))
        for rows, f, log_weights in self._nodes():
            means = [self._at(t, f[..., t]).mean for t in range(self.num_outputs)]
            means = np.stack(means, axis=-1).reshape(f.shape)
            weights = np.exp(log_weights)
            offsets = means - np.tensordot(weights, means, 1)
            found[rows] = np.einsum("k,knt,knu->ntu", weights, offsets, offsets)
        diagonal = np.arange(self.num_outputs)
        found[:, diagonal, diagonal] = self.variance
        return found

    def log_prob(self, Y: Any) -> Float[np.ndarray, "N"]:
        """Log p(y_1, …, y_T) of the outputs that are not NaN; 0 if all are NaN."""
        Y, measured = check_output_rows(Y, len(self), self.num_outputs)
        found = np.empty(len(self))
        for rows, f, log_weights in self._nodes():
            total = np.zeros(f.shape[:2])
            for t in range(self.num_outputs):
                y = np.broadcast_to(np.where(measured[rows, t], Y[rows, t], 0.0), f.shape[:2])
                logs = self._at(t, f[..., t]).log_prob(y.ravel()).reshape(f.shape[:2])
                total += np.where(measured[rows, t], logs, 0.0)
            found[rows] = logsumexp(total + log_weights[:, None], axis=0)
        return found

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N T"]:
        """See `JointPredictive.sample`."""
        check_num_samples(num_samples)
        generator = np.random.default_rng(seed)
        f = self._draws(num_samples, generator)
        own = [
            self._at(t, f[..., t]).sample(1, int(generator.integers(2**31)))
            for t in range(self.num_outputs)
        ]
        return np.stack([draws.reshape(f.shape[:2]) for draws in own], axis=-1)

    def affine(self, scale: Any, shift: Any) -> "JointMixture":
        """See `JointPredictive.affine`."""
        return self.changed(lambda t, own: own.affine(float(scale[t]), float(shift[t])))

    def changed(self, change: Callable[[int, Predictive], Predictive]) -> "JointMixture":
        """The distribution with `change(number, distribution given f)` applied to every output."""

        def given(output: int, *latent: np.ndarray) -> Predictive:
            return change(output, self._given(output, *latent))

        return JointMixture(self.means, self.variances, self.mixing, self._log_weights, given)

    def __getitem__(self, rows: Any) -> "JointMixture":
        return JointMixture(*self._taken(rows), self.mixing, self._log_weights, self._given)

    def _at(self, output: int, f: Float[np.ndarray, "K B"]) -> Predictive:
        """The distribution of an output at K·B rows with known f."""
        known = f.reshape(1, -1)
        return self._given(output, known, np.zeros_like(known), np.zeros(1))

    def _nodes(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Blocks of rows, f at K points [K B T], and the log-weights of these points [K]."""
        components, _, factors = self.means.shape
        count = max(32, _POINTS // components)
        z = normal_points(factors)[:count]
        log_weights = np.repeat(self._log_weights, count) - np.log(count)
        for rows in self._blocks(components * count * max(factors, self.num_outputs)):
            mean, std = self.means[:, rows], np.sqrt(self.variances[:, rows])
            g = mean[:, None] + std[:, None] * z[:, None]
            yield rows, g.reshape(-1, *mean.shape[1:]) @ self.mixing.T, log_weights


def check_output_rows(
    Y: Any, rows: int, outputs: int
) -> tuple[Float[np.ndarray, "N T"], Bool[np.ndarray, "N T"]]:
    """Convert Y to float64 [N T], and find which values were measured (are not NaN).

    Args:
        Y: given by the user.
        rows: N.
        outputs: T.

    >>> check_output_rows([1.0, 2.0], 1, 2)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: Y must have shape (1, 2), a row for each predicted row and ...
    """
    masked = np.ma.isMaskedArray(Y)
    values = np.ma.filled(Y.astype(np.float64), np.nan) if masked else np.asarray(Y)
    if values.dtype.kind not in "fiub":
        raise WrongType(f"Y must be numbers, got dtype {values.dtype}; convert it to float first")
    if values.shape != (rows, outputs):
        raise DirectGPError(
            f"Y must have shape ({rows}, {outputs}), a row for each predicted row and a column for "
            f"each output, got {values.shape}; write NaN for what was not measured"
        )
    values = values.astype(np.float64)
    return values, ~np.isnan(values)
