"""Decide on the data whether float32 is accurate enough for the [M N] work of a step."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from directgp.models.multi_output import MultiOutput
from directgp.objective import Batch
from directgp.parameters import random_key, unwrap
from directgp.training.compiling import compiled_at_once
from directgp.training.loop import GP

_PROBE_ROWS = 256
_SMALLEST_M = {True: 50, False: 100}
"""Inducing points from which float32 pays, in deep models (many inputs a row) and in others."""
_TOLERANCE = 0.05
"""Of the spread, root mean square over rows: costs them on average below tolerance² nats."""


def worth_mixing(gp: GP) -> bool:
    """Mixed precision pays where the [M N] products dominate a step."""
    num_inducing = gp.model.posteriors[0].mean.shape[-1]
    return num_inducing >= _SMALLEST_M[gp.model.components > 1]


def ladder(gp: GP, long: bool) -> tuple[str, ...]:
    """The precisions that a fit goes through, from the fastest to the most exact.

    The fast one is for long fits with a full covariance: leaving it compiles once more, which
    costs a short fit more than the faster steps gain.
    """
    full = not all(posterior.is_mean_field for posterior in gp.model.posteriors)
    return ("fast", "mixed", "float64") if full and long else ("mixed", "float64")


@compiled_at_once
def _agrees(gp: GP, X: Array, precision: str) -> Bool[Array, ""]:
    key = random_key(0)
    exact = gp.model.condition("float64").marginals(X, key)
    rough = gp.model.condition(precision).marginals(X, key)
    spread = exact.variance + gp.likelihood.latent_noise(exact.mean)
    unit = jnp.where(spread > 0, spread, 1.0)  # what is known for certain has no spread
    errors = (exact.mean - rough.mean) ** 2 / unit, ((exact.variance - rough.variance) / unit) ** 2
    worst = jnp.max(jnp.mean(jnp.stack(errors), axis=2))  # over rows, of each component and latent
    # Compared with a spread that is no number everything would be the same.
    return (worst <= _TOLERANCE**2) & jnp.all(jnp.isfinite(spread))


def is_exact_enough(gp: GP, data: Batch, precision: str) -> bool:
    """Marginals in this precision and in float64 differ by 5 % of the spread of f and noise at
    most, as a root mean square over probe rows.

    Probe rows are taken evenly from all: rows may be sorted, and the first ones an edge of the
    data.
    """
    count = len(data.y)
    rows = np.linspace(0, count - 1, min(count, _PROBE_ROWS)).astype(np.intp)
    # Taken on the host: JAX would compile the taking, in more time than it is ever needed for.
    X = np.asarray(data.X)[rows]
    if data.y.ndim == 2:  # each row for one output, all of them in turn
        assert isinstance(gp.model, MultiOutput)
        levels = np.asarray(unwrap(gp.model.levels))
        X = np.concatenate([X, np.resize(levels, (len(rows), 1))], axis=1)
    return bool(_agrees(gp, X, precision))
