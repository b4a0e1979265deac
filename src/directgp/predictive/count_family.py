"""`CountFamily`: the distribution of a count given f, in NumPy."""

from abc import ABC, abstractmethod

import numpy as np


class CountFamily(ABC):
    """p(y | f) of a count in NumPy, which a count likelihood passes to `CountMixture`.

    `cdf` and `survival` are defined for real y and must be smooth between counts. Arguments y are
    counts, f latent values.
    """

    @abstractmethod
    def log_mass(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Log p(y | f).

        Args:
            y: counts.
            f: latent values.
        """

    @abstractmethod
    def cdf(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """P(Y ≤ y | f), which decreases with f.

        Args:
            y: counts.
            f: latent values.
        """

    @abstractmethod
    def survival(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """P(Y > y | f).

        Args:
            y: counts.
            f: latent values.
        """

    @abstractmethod
    def step(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The f below which the cdf at y is 1, and above which it is 0, to 1e-14 or so."""

    @abstractmethod
    def threshold_log_density(
        self, y: np.ndarray, x: np.ndarray, relative: bool = False
    ) -> np.ndarray:
        """Log of −d/dx P(Y ≤ y | log-rate = log(y + 1) + x), a density in x with its peak at 0.

        Args:
            y: counts.
            x: log-rates relative to log(y + 1).
            relative: whether to subtract its value at the peak.
        """

    @abstractmethod
    def threshold_std(self, y: np.ndarray) -> np.ndarray:
        """The width of that density: (−d²/dx² of its log)^−½ at the peak."""

    @abstractmethod
    def rate(self, f: np.ndarray) -> np.ndarray:
        """E[Y | f]."""

    @abstractmethod
    def log_rate(self, f: np.ndarray) -> np.ndarray:
        """Log E[Y | f], accurate also where the rate underflows."""

    @abstractmethod
    def latent(self, rate: np.ndarray) -> np.ndarray:
        """The f with this rate."""

    @abstractmethod
    def moments(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[Y] and Var[Y] for f ~ N(mean, variance).

        Args:
            mean: of f.
            variance: of f.
        """

    @abstractmethod
    def draw(self, f: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """One random count for each f.

        Args:
            f: latent values.
            generator: of random numbers.
        """
