"""The result of a trained contestant, and the monitoring of its time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from directgp import metrics
from directgp.predictive import Predictive

Predict = Callable[[np.ndarray], Predictive]
Curve = list[tuple[float, float]]


@dataclass(frozen=True)
class Trained:
    """A trained contestant."""

    predict: Predict
    seconds: float
    """All it takes from the arrays to the model: inducing inputs, compilation, steps."""
    steps: int | None = None
    curve: Curve = field(default_factory=list)
    """(seconds so far, test NLL) on the way."""


class Clock:
    """Seconds since it was made, without those spent in `stopped` blocks."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """What it shows."""
        return time.perf_counter() - self._began

    @contextmanager
    def stopped(self) -> Iterator[float]:
        """Look at something off the clock; gives the seconds so far."""
        now = time.perf_counter()
        try:
            yield now - self._began
        finally:
            self._began += time.perf_counter() - now


@dataclass
class Watch:
    """The test NLL after every `every` epochs: for time to a given NLL, nothing is chosen by it."""

    X: np.ndarray
    y: np.ndarray
    every: int = 3
    curve: Curve = field(default_factory=list)

    def look(self, epoch: int, seconds: float, predict: Predict) -> None:
        """Note the test NLL if it is time to."""
        if epoch % self.every == 0:
            self.curve.append((seconds, metrics.nll(predict(self.X), self.y)))


def decayed(epoch: int, epochs: int, rate: float = 0.01) -> float:
    """The learning rate of an epoch: tenfold lower from 75 % of them on, and again from 90 %."""
    return rate * 0.1 ** ((epoch >= round(0.75 * epochs)) + (epoch >= round(0.9 * epochs)))
