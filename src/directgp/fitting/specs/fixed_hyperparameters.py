"""`FixedHyperparameters`: a new posterior for the prior of an earlier fit."""

from dataclasses import dataclass
from typing import no_type_check

from directgp.errors import DirectGPError, WrongType
from directgp.fitting.checks import check_switch
from directgp.fitting.fitted import FittedGP


@no_type_check  # `__post_init__` checks the values
@dataclass(frozen=True, eq=False)
class FixedHyperparameters:
    """The kernel, inducing inputs, noise and scales of an earlier fit, held fixed (`dlm` "fixed").

    Only the posterior q(u) is learned, starting from the prior.
    """

    fitted: FittedGP
    """The earlier fit: a sparse GP of one layer and one output."""
    mean_field: bool = False
    """Whether the covariance of the new q(u) is diagonal."""

    def __post_init__(self):
        check_switch("mean_field", self.mean_field)
        if not isinstance(self.fitted, FittedGP):
            raise WrongType(
                f"FixedHyperparameters takes what fit returned, got a {type(self.fitted).__name__}"
            )
        if self.fitted.num_outputs > 1:
            raise DirectGPError(
                f"hyperparameters can be taken from a model of one output, got one of "
                f"{self.fitted.num_outputs}; give it to fit_outputs as model, to go on from it"
            )
