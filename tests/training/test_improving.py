"""A run that ended too early is told from one that is done, whatever its noise and its units."""

import numpy as np
import pytest

from directgp.training.improving import still_improving

STEPS = np.linspace(0, 1, 21)
HELD_OUT = np.random.default_rng(0).normal(size=100)  # standard error 0.1


def _history(loss):
    return {"step": list(range(len(loss))), "validation": list(loss)}


CURVES = {
    "falls to the end": (2 - 1.5 * STEPS, True),
    "falls as the rate does": (2 - 3 * (0.5 * STEPS + np.sin(np.pi * STEPS) / (2 * np.pi)), True),
    "flat": (np.full(21, 0.7), False),
    "fell at once": (0.7 + 2 * np.exp(-20 * STEPS), False),
    "falls by less than can be told": (2 - 0.7 * STEPS, False),
    "only the noise of a high rate ends": (0.7 + 0.4 * (STEPS < 0.5), False),
    "rises": (1 + STEPS, False),
    "over-fits after a good start": (1 + np.abs(STEPS - 0.5), False),
    "not a number": (np.full(21, np.nan), False),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_only_a_clear_fall_counts(name, unit):
    loss, expected = CURVES[name]
    assert still_improving(_history(unit * loss), unit * HELD_OUT) is expected


def test_nothing_is_said_where_nothing_is_known():
    falling = CURVES["falls to the end"][0]
    assert not still_improving(_history(falling), None)
    assert not still_improving(_history(falling[::4]), HELD_OUT)
    assert not still_improving({}, HELD_OUT)
    assert not still_improving(_history(falling), HELD_OUT[:1])
