"""The result of a training run, and the monitoring of its time and test NLL."""

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
    """The result of a training run."""

    predict: Predict
    seconds: float
    """Total time from arrays to model: inducing inputs, compilation, steps."""
    steps: int | None = None
    curve: Curve = field(default_factory=list)
    """(seconds so far, test NLL) during training."""


class Clock:
    """Seconds since it was created, without those in `stopped` blocks."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Elapsed seconds."""
        return time.perf_counter() - self._began

    @contextmanager
    def stopped(self) -> Iterator[float]:
        """Stop the clock during a `with` block; yields the elapsed seconds."""
        now = time.perf_counter()
        try:
            yield now - self._began
        finally:
            self._began += time.perf_counter() - now


@dataclass
class Watch:
    """Records the test NLL after every `every` epochs, for the time to a given NLL only."""

    X: np.ndarray
    y: np.ndarray
    every: int = 3
    curve: Curve = field(default_factory=list)

    def look(self, epoch: int, seconds: float, predict: Predict) -> None:
        """Record the test NLL if it is due."""
        if epoch % self.every == 0:
            self.curve.append((seconds, metrics.nll(predict(self.X), self.y)))


def decayed(epoch: int, epochs: int, rate: float = 0.01) -> float:
    """The learning rate of an epoch: divided by ten after 75 % and again after 90 % of them."""
    return rate * 0.1 ** ((epoch >= round(0.75 * epochs)) + (epoch >= round(0.9 * epochs)))
