"""`Training`: number of steps, learning rate, batch size, precision, time budget, checkpoints."""

import math
import os
from dataclasses import dataclass
from typing import Any, Literal, no_type_check

from directgp.errors import DirectGPError
from directgp.fitting.checks import (
    check_amount,
    check_choice,
    check_count,
    check_folder,
    check_switch,
    plain_number,
)
from directgp.training.learning_rates import QUICK
from directgp.training.loop import Settings

BATCH_SIZE = 1000
MAX_STEPS = 2000
_EPOCHS = 60
_FASTEST = 1.0  # a step of Adam changes log length-scales by at most the learning rate
_LEAST_STEPS = 1000  # 60 passes over a few thousand rows leave most tables under-trained
_CHUNK = 50


@no_type_check  # `__post_init__` checks the values
@dataclass(frozen=True, kw_only=True)
class Training:
    """Options of training: steps, learning rate, batch size, precision, time budget, checkpoints.

    Up to `batch_size` rows are trained full-batch for at most `max_steps`, more of them in
    mini-batches for `epochs`; give both if tables of either size occur.

    >>> Training(max_steps=300).settings(100, depth=1, seed=0).steps
    300
    >>> Training(learning_rate=0)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: learning_rate must be a number above 0, got 0; use e.g. 0.05
    """

    epochs: float | int | None = None
    """Epochs of mini-batch training; None: 60, or as many as make 1000 steps."""
    max_steps: int | None = None
    """Maximum steps of full-batch training; None: 2000. It stops early when converged."""
    batch_size: int | None = BATCH_SIZE
    """Rows per mini-batch; None: always full-batch."""
    learning_rate: float | int | None = None
    """Learning rate of Adam, at most 1; None: 0.05, with several layers 0.02.

    If None, the kernel and the mean of q(u) of a single sparse GP have three times that rate; a
    given rate applies to all parameters.
    """
    patience: int | None = None
    """Stop after so many chunks of steps without a better held-out loss; None: never."""
    precision: Literal["auto", "float64", "mixed"] = "auto"
    """Floating-point precision; "auto" uses mixed precision if faster and accurate enough."""
    time_budget: float | int | None = None
    """Seconds for the whole fit, the choice of β included; it determines the number of steps.

    Measured on the first steps, which are always taken: it can be passed by the time these take
    to compile. A resumed fit has the number of steps it began with.
    """
    tolerance: float | int = Settings.tolerance
    """Full-batch training stops if the objective per row changes less over `window` steps."""
    window: int = Settings.window
    """See `tolerance`."""
    checkpoint: str | os.PathLike[str] | None = None
    """Folder of checkpoints; run again with the same arguments to resume after an interrupt."""
    keep_checkpoint: bool = False
    """Keep the checkpoints at the end; the same call then returns the same fit at once."""

    def __post_init__(self):
        self._amount("epochs", use=60)
        self._amount("learning_rate", use=0.05)
        self._amount("time_budget", "number of seconds", use=60)
        if self.learning_rate is not None and self.learning_rate > _FASTEST:
            raise DirectGPError(
                f"learning_rate must be at most {_FASTEST:g}, got {self.learning_rate!r}: a step "
                f"would change length-scales by a factor of e^{self.learning_rate:g}, and nothing "
                "is learned; use e.g. 0.05"
            )
        for name in ("max_steps", "batch_size", "patience", "window"):
            self._count(name)
        check_choice("precision", self.precision, ("auto", "float64", "mixed"))
        self._set("tolerance", plain_number(self.tolerance))
        if not 0 <= self.tolerance < math.inf:
            raise DirectGPError(f"tolerance must be a number ≥ 0, got {self.tolerance!r}")
        check_switch("keep_checkpoint", self.keep_checkpoint)
        if self.checkpoint is not None:
            check_folder("checkpoint", self.checkpoint)
        elif self.keep_checkpoint:
            raise DirectGPError(
                "keep_checkpoint=True has no effect without a folder; give checkpoint too"
            )

    def settings(self, num_rows: int, depth: int, seed: int) -> Settings:
        """The settings of the training loop, full-batch or with mini-batches.

        `epochs` of a full batch and `max_steps` of mini-batches have no effect and are refused,
        unless both are given.

        Args:
            num_rows: of the training data.
            depth: the number of layers.
            seed: of mini-batches and samples.
        """
        steps, chunk = self._steps_and_chunk(num_rows)
        return Settings(
            steps,
            None if self._is_full_batch(num_rows) else self.batch_size,
            default_learning_rate(depth) if self.learning_rate is None else self.learning_rate,
            quick=QUICK if self.learning_rate is None else 1.0,
            chunk=chunk,
            seed=seed,
            tolerance=self.tolerance,
            window=self.window,
            patience=self.patience,
        )

    def _is_full_batch(self, num_rows: int) -> bool:
        return self.batch_size is None or self.batch_size >= num_rows

    def _steps_and_chunk(self, num_rows: int) -> tuple[int, int]:
        if self.batch_size is None or self.batch_size >= num_rows:
            if self.epochs is not None and self.max_steps is None:
                raise DirectGPError(
                    f"epochs={self.epochs:g} is about mini-batches, and the {num_rows} training "
                    "rows are one batch; give max_steps instead, or both for tables of any size"
                )
            steps = self.max_steps or MAX_STEPS
            return steps, full_batch_chunk(steps)
        if self.max_steps is not None and self.epochs is None:
            raise DirectGPError(
                f"max_steps={self.max_steps} is about full batches, and the {num_rows} training "
                f"rows come in batches of {self.batch_size}; give epochs instead, or both for "
                "tables of any size"
            )
        per_epoch = num_rows // self.batch_size
        epochs = self.epochs or default_epochs(num_rows, self.batch_size)
        steps = max(1, round(epochs * per_epoch))
        return steps, min(max(min(per_epoch, steps), 20), 100)

    def _amount(self, name: str, kind: str = "number", use: float | int = 1) -> None:
        """Validate a positive number and convert it to a Python number; None is allowed."""
        value = plain_number(getattr(self, name))
        if value is not None:
            check_amount(name, value, kind, use)
            self._set(name, value)

    def _count(self, name: str) -> None:
        value = getattr(self, name)
        if value is not None:
            check_count(name, value)
            self._set(name, int(value))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def default_learning_rate(depth: int) -> float:
    """Default learning rate of Adam, smaller for several layers."""
    return 0.05 if depth == 1 else 0.02


def default_epochs(num_rows: int, batch_size: int = BATCH_SIZE) -> float | int:
    """Default epochs of mini-batch training: 60, or as many as make 1000 steps.

    Args:
        num_rows: of the training data.
        batch_size: of a mini-batch.
    """
    return max(_EPOCHS, _LEAST_STEPS / (num_rows // batch_size))


def full_batch_chunk(steps: int) -> int:
    """The length of chunks of full-batch steps: all equal, and at most 50.

    >>> [full_batch_chunk(steps) for steps in (1, 50, 120, 2000)]
    [1, 50, 40, 50]
    """
    return math.ceil(steps / math.ceil(steps / _CHUNK))
