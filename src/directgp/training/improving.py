"""Detect a run that ended too early, while its held-out loss was still falling."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

_LEAST_CHUNKS = 8


def still_improving(
    history: Mapping[str, Sequence[float | int]], held_out: Float[np.ndarray, "V"] | None
) -> bool:
    """Whether the validation loss fell clearly in both the second and the last part of a run.

    The learning rate decays to almost 0, so every curve is flat at its end, and a fall in the
    second half only may be the noise of a high rate that disappears. A run that was too short falls
    also from its first quarter to its middle, where the rate is high. "Clearly" means by more than
    two standard errors of the held-out loss.

    Args:
        history: of the run.
        held_out: the loss of every held-out row, if there are any.
    """
    loss = np.asarray(history.get("validation", ()), dtype=np.float64)
    if held_out is None or len(held_out) < 2 or len(loss) < _LEAST_CHUNKS:
        return False
    quarter, middle = (_around(loss, share) for share in (0.25, 0.5))
    falls = quarter - middle, middle - float(np.min(loss[len(loss) // 2 :]))
    error = float(np.std(held_out) / np.sqrt(len(held_out)))
    return bool(min(falls) > 2 * error)


def _around(loss: Float[np.ndarray, "T"], share: float) -> float:
    """The median over a tenth of the run."""
    first, last = (round(at * (len(loss) - 1)) for at in (share - 0.05, share + 0.05))
    return float(np.median(loss[first : last + 1]))
