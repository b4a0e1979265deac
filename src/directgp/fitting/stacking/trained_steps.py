"""Number of training steps of the gradient-trained member of a stack."""

from directgp.fitting.specs import BATCH_SIZE, Training

_FEWEST, _MOST, _PER_ROW = 800, 2500, 0.06
_FEWEST_OF_CLASSES = 200


def trained_steps(num_rows: int, seconds_left: float, *, latents: int = 1) -> Training:
    """The number of training steps, independent of the time, so that fits are reproducible.

    Args:
        num_rows: that it is trained on.
        seconds_left: of the time budget; infinite if there is none.
        latents: latent functions; a step of several takes as many times as long.

    >>> trained_steps(10_000, float("inf")).epochs
    80.0
    """
    steps = min(max(_FEWEST, round(_PER_ROW * num_rows)), _MOST)
    if latents > 1:
        steps = max(_FEWEST_OF_CLASSES, steps // latents)
    budget = None if seconds_left == float("inf") else max(1.0, seconds_left)
    full_batch = num_rows <= BATCH_SIZE
    return Training(
        epochs=None if full_batch else steps * BATCH_SIZE / num_rows,
        max_steps=steps if full_batch else None,
        time_budget=budget,
    )
