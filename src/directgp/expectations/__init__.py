"""Expectations over f: closed forms, quadrature and Monte Carlo, one file each."""

from directgp.expectations.base import Expectation, expectations
from directgp.expectations.centred import CentredQuadrature
from directgp.expectations.choose import choose_expectation, judging_expectation
from directgp.expectations.closed_form import ClosedForm
from directgp.expectations.gauss_hermite import GaussHermite
from directgp.expectations.monte_carlo import MonteCarlo
from directgp.expectations.product_sampling import ProductSampling
from directgp.expectations.quasi_monte_carlo import QuasiMonteCarlo
from directgp.expectations.tilted import EnvelopeSampler, TiltedSampler, WideSampler

__all__ = [
    "CentredQuadrature",
    "ClosedForm",
    "EnvelopeSampler",
    "Expectation",
    "GaussHermite",
    "MonteCarlo",
    "ProductSampling",
    "QuasiMonteCarlo",
    "TiltedSampler",
    "WideSampler",
    "choose_expectation",
    "expectations",
    "judging_expectation",
]
