"""Closed-form integrals; an error if none is registered."""

from directgp.expectations.base import Expectation
from directgp.likelihoods.closed_forms import find_closed_form


class ClosedForm(Expectation):
    """Exact, where a formula is registered; otherwise an error that names the alternatives."""

    def _mean(self, integrand, y, mean, variance, key):
        return find_closed_form(integrand, "mean")(integrand, y, mean, variance)

    def _log_mean_exp(self, integrand, y, mean, variance, key):
        return find_closed_form(integrand, "log_mean_exp")(integrand, y, mean, variance)
