"""Registry of closed-form integrals over f ~ N(mean, variance), filled by the likelihoods."""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Array

from directgp.errors import DirectGPError
from directgp.likelihoods.integrands import (
    ConditionalMean,
    Integrand,
    LogNormalisedPower,
    LogPower,
    LogPowerIntegral,
    SquaredError,
)

Form = Callable[[Integrand, Array, Array, Array], Array]
Kind = Literal["mean", "log_mean_exp"]
_forms: dict[tuple[type, type, str], Form] = {}


def closed_form(integrand: type, likelihood: type, kind: Kind) -> Callable[[Form], Form]:
    """Decorator that registers the closed form of E[g] ("mean") or log E[exp g] ("log_mean_exp").

    The function is called with (integrand, y [N], mean [S N P], variance [S N P]) and returns [S
    N].

    Args:
        integrand: the class of g.
        likelihood: the class of p(y | f).
        kind: of the expectation.
    """

    def add(form: Form) -> Form:
        _forms[integrand, likelihood, kind] = form
        return form

    return add


def has_closed_form(integrand: type, likelihood: type, kind: Kind) -> bool:
    """Whether a closed form is registered for this expectation.

    Args:
        integrand: the class of g.
        likelihood: the class of p(y | f).
        kind: of the expectation.
    """
    return (integrand, likelihood, kind) in _forms


def find_closed_form(integrand: Integrand, kind: Kind) -> Form:
    """The registered closed form; raises an error if there is none.

    Args:
        integrand: g, with its likelihood.
        kind: of the expectation.
    """
    form = _forms.get((type(integrand), type(integrand.likelihood), kind))
    if form is None:
        raise DirectGPError(
            f"no closed form is known for the {kind} of {type(integrand).__name__} under "
            f"{type(integrand.likelihood).__name__}; use GaussHermite() or MonteCarlo(samples)"
        )
    return form


def location_forms(likelihood: type) -> None:
    """Register E_q[E[y | f]] and E_q[½(y − E[y | f])²] for a likelihood with E[y | f] = f.

    Args:
        likelihood: a class with one latent value.
    """

    @closed_form(ConditionalMean, likelihood, "mean")
    def predictive_mean(integrand, y, mean, variance):
        return mean[..., 0]

    @closed_form(SquaredError, likelihood, "mean")
    def expected_squared_error(integrand, y, mean, variance):
        return 0.5 * ((y - mean[..., 0]) ** 2 + variance[..., 0])


def power_forms(likelihood: type) -> None:
    """Register the closed forms that follow from that of `LogPower` if log I does not depend on f.

    That of `LogNormalisedPower` is log E_q[p^c] − (c/power) log I (`gvi` eq. 21, corrected).

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
