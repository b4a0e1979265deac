"""Base class of the methods that compute expectations over f ~ N(mean, variance)."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.likelihoods.integrands import Integrand
from directgp.marginals import Marginals
from directgp.registry import Registry


class Expectation(eqx.Module):
    """Two integrals of an integrand g over every component of the mixture.

    `mean` is E[g(y, f)], what a Gibbs loss averages; `log_mean_exp` is log E[exp g(y, f)],
    what a direct log loss scores. Shapes: y [N], or [N T] where an observation is a
    vector, mean and variance [S N P], result [S N].
    """

    def mean(
        self,
        integrand: Integrand,
        y: Float[Array, "N *T"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        """E_{f ~ N(mean, variance)} [g(y, f)].

        Args:
            integrand: g.
            y: the observations.
            mean: of the components of q(f).
            variance: of the components of q(f).
            key: for Monte Carlo methods; None where nothing is sampled.
        """
        return self._mean(integrand, y, mean, variance, key)

    def log_mean_exp(
        self,
        integrand: Integrand,
        y: Float[Array, "N *T"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        """Log E_{f ~ N(mean, variance)} [exp g(y, f)], in log space; arguments as of `mean`."""
        return self._log_mean_exp(integrand, y, mean, variance, key)

    @abstractmethod
    def _mean(self, integrand, y, mean, variance, key) -> Array:
        """The integral of `mean`, whose arguments have been checked."""

    @abstractmethod
    def _log_mean_exp(self, integrand, y, mean, variance, key) -> Array:
        """The integral of `log_mean_exp`, whose arguments have been checked."""

    def mixture_log_mean_exp(
        self,
        integrand: Integrand,
        y: Float[Array, "N *T"],
        marginals: Marginals,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "N"]:
        """Log E_q[exp g(y, f)] = log Σ_s w_s E_{q_s}[exp g(y, f)] over the whole mixture.

        By default the expectation of every component is computed separately.

        Args:
            integrand: g.
            y: the observations.
            marginals: q(f).
            key: for Monte Carlo methods; None where nothing is sampled.
        """
        parts = self.log_mean_exp(integrand, y, marginals.mean, marginals.variance, key)
        return marginals.log_average_exp(parts)


def spread_over(y: Float[Array, "N *T"], f: Float[Array, "*B P"]) -> Float[Array, "..."]:
    """Broadcast y [N …] to the leading axes [… N] of f."""
    return jnp.broadcast_to(y, (*f.shape[:-1], *y.shape[1:]))


expectations = Registry("expectation", Expectation)
