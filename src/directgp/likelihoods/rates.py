"""Rate functions, which map a latent value to the mean of a count, in JAX and in NumPy."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.scipy import special as jax_special
from jaxtyping import Float

from directgp.predictive.quadrature import mean_and_variance


class Arrays(NamedTuple):
    """The array library that evaluates a formula: JAX or NumPy."""

    numpy: Any
    special: Any


JAX = Arrays(jnp, jax_special)
HOST = Arrays(np, scipy.special)


class Rate(ABC):
    """rate(f) > 0, increasing in f."""

    @abstractmethod
    def rate(self, f: Any, on: Arrays = JAX) -> Any:
        """The mean of the count.

        Args:
            f: latent values.
            on: the array library.
        """

    @abstractmethod
    def log_rate(self, f: Any, on: Arrays = JAX) -> Any:
        """Log rate(f), accurate also where the rate itself underflows.

        Args:
            f: latent values.
            on: the array library.
        """

    @abstractmethod
    def latent(self, rate: Any, on: Arrays = JAX) -> Any:
        """The f with this rate; −∞ for 0.

        Args:
            rate: means of counts.
            on: the array library.
        """

    @abstractmethod
    def moments(
        self, mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
    ) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
        """E[rate(f)] and Var[rate(f)] for f ~ N(mean, variance), in NumPy.

        Args:
            mean: of f.
            variance: of f.
        """


def bounded_exp(f: Any, on: Arrays = JAX) -> Any:
    """exp(f), continued linearly just below the largest float (f = 690 in float64).

    Values and gradients stay finite, and gradients keep their sign.

    Args:
        f: latent values.
        on: the array library.
    """
    largest = float(np.log(np.finfo(f.dtype).max)) - 20.0
    beyond = on.numpy.maximum(f - largest, 0.0)
    return on.numpy.exp(on.numpy.minimum(f, largest)) * (1.0 + beyond)


class ExpRate(Rate):
    """rate = exp(f): multiplicative effects; the rate of a Gaussian f is log-normal."""

    def rate(self, f: Any, on: Arrays = JAX) -> Any:
        return bounded_exp(f, on)

    def log_rate(self, f: Any, on: Arrays = JAX) -> Any:
        return f

    def latent(self, rate: Any, on: Arrays = JAX) -> Any:
        return on.numpy.log(rate)

    def moments(
        self, mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
    ) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
        """E = exp(m + v/2) and Var = (e^v − 1) E²."""
        with np.errstate(over="ignore", invalid="ignore"):
            rate = np.exp(mean + 0.5 * variance)
            spread = np.expm1(variance) * rate**2
        return rate, np.where(variance > 0, spread, 0.0)


class SoftplusRate(Rate):
    """rate = log(1 + exp(f)): effects are additive for large rates, multiplicative for small."""

    def rate(self, f: Any, on: Arrays = JAX) -> Any:
        return on.numpy.logaddexp(f, 0.0)

    def log_rate(self, f: Any, on: Arrays = JAX) -> Any:
        """Log log(1 + e^f); for f < −12 by its series f − e^f/2 + 5e^{2f}/24."""
        small = on.numpy.exp(on.numpy.minimum(f, -12.0))
        series = f - 0.5 * small + (5.0 / 24.0) * small**2
        plain = on.numpy.log(on.numpy.logaddexp(on.numpy.maximum(f, -12.0), 0.0))
        return on.numpy.where(f < -12.0, series, plain)

    def latent(self, rate: Any, on: Arrays = JAX) -> Any:
        """log(e^rate − 1) = rate + log(1 − e^{−rate})."""
        return rate + on.numpy.log(-on.numpy.expm1(-rate))

    def moments(
        self, mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
    ) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
        """By quadrature, because no closed form is known."""
        return mean_and_variance(lambda f: self.rate(f, HOST), mean, variance)
