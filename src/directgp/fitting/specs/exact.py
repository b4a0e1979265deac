"""`Exact`: exact Gaussian-process regression, without inducing points."""

from dataclasses import dataclass
from typing import no_type_check

from directgp.fitting.checks import check_count, plain_number

MOST_ROWS = 5000
"""Maximum number of distinct rows; a step takes O(N³) time and several [N N] matrices."""
MAX_STEPS = 100
"""Default number of L-BFGS steps."""
LEARN_FROM = 600
"""Default number of rows for most steps."""


@no_type_check  # `__post_init__` checks the values
@dataclass(frozen=True, kw_only=True)
class Exact:
    """An exact GP with Gaussian noise, for up to 5,000 different rows.

    The kernel is Matérn 5/2 with a length-scale per input, plus a linear kernel. The posterior has
    a closed form, so `fit` learns hyperparameters only: by marginal likelihood (loss="elbo": the
    largest ELBO over all q is the evidence), or by the mean leave-one-out loss ("direct-log",
    "direct-square", "direct-crps", "direct-pinball"). There is no divergence, and so no β.

    >>> Exact(learn_from=300)
    Exact(learn_from=300)
    >>> Exact(learn_from=0)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: learn_from must be a whole number ≥ 1, got 0
    """

    learn_from: int | None = None
    """Maximum number of rows for most steps; a few final steps use all rows. None: 600."""

    def __post_init__(self):
        number = plain_number(self.learn_from)
        if number is not None:
            check_count("learn_from", number)
            object.__setattr__(self, "learn_from", int(number))
