"""Closed-form expectations; an error if none is registered."""

from directgp.expectations.base import Expectation, expectations
from directgp.likelihoods.closed_forms import find_closed_form


@expectations.register("closed-form")
class ClosedForm(Expectation):
    """Exact expectations; an error if no closed form is registered for the likelihood."""

    def _mean(self, integrand, y, mean, variance, key):
        return find_closed_form(integrand, "mean")(integrand, y, mean, variance)

    def _log_mean_exp(self, integrand, y, mean, variance, key):
        return find_closed_form(integrand, "log_mean_exp")(integrand, y, mean, variance)
