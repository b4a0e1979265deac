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
    """Closed forms if all `needs` have one, else quadrature (one latent value), else Monte Carlo.

    Quadrature of p(y | f) and its powers is centred on the mode of the product with q(f).

    Args:
        needs: of the loss (`Loss.needs`): pairs (integrand class, "mean" or "log_mean_exp").
        likelihood: p(y | f).
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
    """As `choose_expectation`, for held-out scores, with the accuracy of predictions.

    Several latent values are integrated at the quasi-random points of the predictive distribution
    (a quarter of them for many rows), because the logarithm of a Monte Carlo average is biased.

    Args:
        needs: of the loss.
        likelihood: p(y | f).
        rows: the number of held-out rows.
    """
    chosen = choose_expectation(needs, likelihood)
    if not isinstance(chosen, MonteCarlo):
        return chosen
    return QuasiMonteCarlo(MOST_POINTS if rows <= _FEW_ROWS else MOST_POINTS // 4)
