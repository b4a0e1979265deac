"""How an integral over f ~ N(mean, variance) is done."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.likelihoods.integrands import Integrand
from directgp.marginals import Marginals


class Expectation(eqx.Module):
    """Two integrals of an integrand g over every component of the mixture.

    `mean` is E[g(y, f)], what a Gibbs loss averages; `log_mean_exp` is log E[exp g(y, f)],
    what a direct log loss scores. Shapes: y [N], mean and variance [S N P], result [S N].
    """

    @abstractmethod
    def mean(
        self,
        integrand: Integrand,
        y: Float[Array, "N"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        """E_{f ~ N(mean, variance)} [g(y, f)]."""

    @abstractmethod
    def log_mean_exp(
        self,
        integrand: Integrand,
        y: Float[Array, "N"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        """Log E_{f ~ N(mean, variance)} [exp g(y, f)], stable in log space."""

    def mixture_log_mean_exp(
        self,
        integrand: Integrand,
        y: Float[Array, "N"],
        marginals: Marginals,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "N"]:
        """Log E_q[exp g(y, f)] = log Σ_s w_s E_{q_s}[exp g(y, f)] over the whole mixture.

        Component by component unless an expectation has a way of its own (`ProductSampling`).
        """
        parts = self.log_mean_exp(integrand, y, marginals.mean, marginals.variance, key)
        return marginals.log_average_exp(parts)
