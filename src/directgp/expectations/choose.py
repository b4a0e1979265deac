"""The default expectation for a loss and a likelihood."""

from directgp.expectations.base import Expectation
from directgp.expectations.centred import CentredQuadrature
from directgp.expectations.closed_form import ClosedForm
from directgp.expectations.gauss_hermite import GaussHermite
from directgp.expectations.monte_carlo import MonteCarlo
from directgp.expectations.quasi_monte_carlo import QuasiMonteCarlo
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.closed_forms import has_closed_form
from directgp.likelihoods.integrands import LogPower, LogProb
from directgp.predictive.softmax import MOST_POINTS

_FEW_ROWS = 2000


def choose_expectation(needs: tuple, likelihood: Likelihood) -> Expectation:
    """Closed forms if all `needs` have one, else quadrature (one latent), else sampling.

    Quadrature of p(y | f) and its powers is centred on the product with q(f).

    `needs` is what `Loss.needs` says: pairs (integrand class, "mean" or "log_mean_exp").
    """
    if all(has_closed_form(integrand, type(likelihood), kind) for integrand, kind in needs):
        return ClosedForm()
    if likelihood.num_latents == 1:
        logs = [integrand for integrand, kind in needs if kind == "log_mean_exp"]
        if not logs or not all(integrand in (LogProb, LogPower) for integrand in logs):
            return GaussHermite(32)
        return CentredQuadrature(20 if len(logs) == len(needs) else 32)
    return MonteCarlo(20)


def judging_expectation(needs: tuple, likelihood: Likelihood, rows: int) -> Expectation:
    """As `choose_expectation`, for held-out scores: with the accuracy of predictions.

    Several latent values are integrated at the points of the predictive distribution (a quarter of
    them for many rows), not at random ones, whose log average is biased.
    """
    chosen = choose_expectation(needs, likelihood)
    if not isinstance(chosen, MonteCarlo):
        return chosen
    return QuasiMonteCarlo(MOST_POINTS if rows <= _FEW_ROWS else MOST_POINTS // 4)
