"""Formulas of integrals over f ~ N(mean, variance), registered by the likelihoods with them."""

from collections.abc import Callable
from typing import Literal

from jaxtyping import Array

from directgp.errors import DirectGPError
from directgp.likelihoods.integrands import Integrand

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
    """The registered formula, or an error that says what to use instead."""
    form = _forms.get((type(integrand), type(integrand.likelihood), kind))
    if form is None:
        raise DirectGPError(
            f"no closed form is known for the {kind} of {type(integrand).__name__} under "
            f"{type(integrand.likelihood).__name__}; use GaussHermite() or MonteCarlo(samples)"
        )
    return form
