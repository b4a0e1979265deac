"""Tests on the data whether float32 is accurate enough for the [M N] work of a step."""

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
"""Number of inducing points from which float32 is faster, in deep models and in others."""
_TOLERANCE = 0.05
"""Relative to the deviation of y, root mean square over rows: below tolerance² nats per row."""


def worth_mixing(gp: GP) -> bool:
    """Whether the [M N] products dominate a step, so that mixed precision is faster."""
    num_inducing = gp.model.posteriors[0].mean.shape[-1]
    return num_inducing >= _SMALLEST_M[gp.model.components > 1]


def ladder(gp: GP, long: bool) -> tuple[str, ...]:
    """The precisions of a fit in the order of use, from the fastest to the most exact.

    "fast" is for long fits with a full covariance, because changing to the next one compiles
    another program.

    Args:
        gp: model and likelihood.
        long: whether the fit is a long one (`budget.is_long`).
    """
    full = not all(posterior.is_mean_field for posterior in gp.model.posteriors)
    return ("fast", "mixed", "float64") if full and long else ("mixed", "float64")


@compiled_at_once
def _agrees(gp: GP, X: Array, precision: str) -> Bool[Array, ""]:
    key = random_key(0)
    exact = gp.model.condition("float64").marginals(X, key)
    rough = gp.model.condition(precision).marginals(X, key)
    spread = exact.variance + gp.likelihood.latent_noise(exact.mean)
    unit = jnp.where(spread > 0, spread, 1.0)  # 0 for a latent value that is known exactly
    errors = (exact.mean - rough.mean) ** 2 / unit, ((exact.variance - rough.variance) / unit) ** 2
    worst = jnp.max(jnp.mean(jnp.stack(errors), axis=2))  # over rows, of each component and latent
    # With a spread of NaN or ∞ every error would pass.
    return (worst <= _TOLERANCE**2) & jnp.all(jnp.isfinite(spread))


def is_exact_enough(gp: GP, data: Batch, precision: str) -> bool:
    """Whether marginals differ from those in float64 by at most 5 % of the deviation of y.

    The difference is a root mean square over probe rows, which are evenly spaced, because rows may
    be sorted.

    Args:
        gp: model and likelihood.
        data: the training rows.
        precision: to test.
    """
    count = len(data.y)
    rows = np.linspace(0, count - 1, min(count, _PROBE_ROWS)).astype(np.intp)
    # Indexed in NumPy, because JAX would compile a program for it.
    X = np.asarray(data.X)[rows]
    if data.y.ndim == 2:  # each row for one output, all of them in turn
        assert isinstance(gp.model, MultiOutput)
        levels = np.asarray(unwrap(gp.model.levels))
        X = np.concatenate([X, np.resize(levels, (len(rows), 1))], axis=1)
    return bool(_agrees(gp, X, precision))
