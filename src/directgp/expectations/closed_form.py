"""Integrals that have a formula. Asking for one that does not exist is an error."""

from jaxtyping import Array, Float, PRNGKeyArray

from directgp.expectations.base import Expectation
from directgp.likelihoods.closed_forms import find_closed_form
from directgp.likelihoods.integrands import Integrand


class ClosedForm(Expectation):
    """Exact, where a formula is registered; otherwise an error that names the alternatives."""

    def mean(
        self,
        integrand: Integrand,
        y: Float[Array, "N"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        return find_closed_form(integrand, "mean")(integrand, y, mean, variance)

    def log_mean_exp(
        self,
        integrand: Integrand,
        y: Float[Array, "N"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        return find_closed_form(integrand, "log_mean_exp")(integrand, y, mean, variance)
