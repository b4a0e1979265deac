"""Registry of closed-form integrals over f ~ N(mean, variance), filled by the likelihoods."""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Array

from directgp.errors import DirectGPError
from directgp.likelihoods.integrands import (
    Integrand,
    LogNormalisedPower,
    LogPower,
    LogPowerIntegral,
)

Form = Callable[[Integrand, Array, Array, Array], Array]
Kind = Literal["mean", "log_mean_exp"]
_forms: dict[tuple[type, type, str], Form] = {}


def closed_form(integrand: type, likelihood: type, kind: Kind) -> Callable[[Form], Form]:
    """Register the formula of E[g] ("mean") or log E[exp g] ("log_mean_exp").

    The function gets (integrand, y [N], mean [S N P], variance [S N P]) and returns [S N].
    """

    def add(form: Form) -> Form:
        _forms[integrand, likelihood, kind] = form
        return form

    return add


def has_closed_form(integrand: type, likelihood: type, kind: Kind) -> bool:
    """Whether a formula is registered for this integral."""
    return (integrand, likelihood, kind) in _forms


def find_closed_form(integrand: Integrand, kind: Kind) -> Form:
    """The registered formula, or an error that names alternatives."""
    form = _forms.get((type(integrand), type(integrand.likelihood), kind))
    if form is None:
        raise DirectGPError(
            f"no closed form is known for the {kind} of {type(integrand).__name__} under "
            f"{type(integrand.likelihood).__name__}; use GaussHermite() or MonteCarlo(samples)"
        )
    return form


def power_forms(likelihood: type) -> None:
    """Register what follows from the integral of `LogPower` where log I is the same for all f.

    The second is log E_q[p^c] − (c/power) log I (`gvi` eq. 21, corrected).

    Args:
        likelihood: a class with a closed form of `LogPower` and with `log_power_integral`.
    """

    @closed_form(LogPowerIntegral, likelihood, "log_mean_exp")
    def log_mean_integral(integrand, y, mean, variance):
        return integrand.likelihood.log_power_integral(mean, integrand.power)

    @closed_form(LogNormalisedPower, likelihood, "log_mean_exp")
    def log_mean_normalised_power(integrand, y, mean, variance):
        power = integrand.power
        alone = LogPower(integrand.likelihood, power)
        log_mean = find_closed_form(alone, "log_mean_exp")(alone, y, mean, variance)
        integral = integrand.likelihood.log_power_integral(mean, power)
        return log_mean - (power - 1.0) / power * integral
