"""Which expectation to use when the user does not say."""

from directgp.expectations.base import Expectation
from directgp.expectations.centred import CentredQuadrature
from directgp.expectations.closed_form import ClosedForm
from directgp.expectations.gauss_hermite import GaussHermite
from directgp.expectations.monte_carlo import MonteCarlo
from directgp.expectations.quasi_monte_carlo import QuasiMonteCarlo
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.closed_forms import has_closed_form
from directgp.likelihoods.integrands import LogProb
from directgp.predictive.softmax import MOST_POINTS

_FEW_ROWS = 2000


def choose_expectation(needs: tuple, likelihood: Likelihood) -> Expectation:
    """Closed forms if all `needs` have one, else quadrature (one latent), else sampling.

    Quadrature of p(y | f) is centred on the product q(f) p(y | f).

    `needs` is what `Loss.needs` says: pairs (integrand class, "mean" or "log_mean_exp").
    """
    if all(has_closed_form(integrand, type(likelihood), kind) for integrand, kind in needs):
        return ClosedForm()
    if likelihood.num_latents == 1:
        direct = all(need == (LogProb, "log_mean_exp") for need in needs)
        return CentredQuadrature(20) if direct else GaussHermite(32)
    return MonteCarlo(20)


def judging_expectation(needs: tuple, likelihood: Likelihood, rows: int) -> Expectation:
    """As `choose_expectation`, for scores of held-out rows: as exact as predictions are.

    Several latent values are integrated at the points of the predictive distribution (a quarter of
    them for many rows), not at random ones, whose log average is biased.
    """
    chosen = choose_expectation(needs, likelihood)
    if not isinstance(chosen, MonteCarlo):
        return chosen
    return QuasiMonteCarlo(MOST_POINTS if rows <= _FEW_ROWS else MOST_POINTS // 4)
