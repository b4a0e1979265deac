"""The learning rate over a run: a short warm-up, then cosine decay to 1 %."""

import numpy as np
from jaxtyping import Float

_WARM_UP, _FLOOR = 0.02, 0.01


def learning_rates(
    first: int,
    count: int,
    total: int,
    peak: float,
    *,
    decay: bool = True,
) -> Float[np.ndarray, "T"]:
    """The rates of steps first … first+count−1 of a run of `total` steps.

    Linear warm-up over the first 2 %, then a cosine from `peak` to 1 % of it, or a constant rate
    without `decay`. After `total` steps (runs are rounded up to whole chunks) the rate is constant.

    Args:
        first: the number of the first step.
        count: of steps.
        total: steps of the whole run.
        peak: the largest rate.
        decay: whether the rate falls after the warm-up.

    >>> learning_rates(0, 3, 100, 1.0).round(3).tolist()
    [0.5, 1.0, 1.0]
    """
    steps = np.arange(first, first + count)
    ramp_steps = max(1.0, _WARM_UP * total)
    ramp = np.minimum(1.0, (steps + 1) / ramp_steps)
    if not decay:
        return peak * ramp
    position = np.clip((steps - ramp_steps) / max(1.0, total - ramp_steps), 0.0, 1.0)
    cosine = _FLOOR + (1.0 - _FLOOR) * 0.5 * (1.0 + np.cos(np.pi * position))
    return peak * ramp * cosine
