"""Held-out losses of candidates for β: those of all folds together, and the noise they ask for."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from directgp.training.evaluate import MORE_NOISE
from directgp.training.loop import FAILED, GP, Trained


@runtime_checkable
class Judge(Protocol):
    """Evaluates a model on held-out rows; see `training.evaluate.Scorer`."""

    def rows(self, gp: GP) -> Float[np.ndarray, "V"]:
        """The loss of every held-out row."""
        ...

    def rows_by_noise(self, gp: GP) -> Float[np.ndarray, "A V"]:
        """The same for every amount of `MORE_NOISE` added to the noise, from 0 on; see `Scorer`."""
        ...

    def further_row(self, gp: GP) -> float | None:
        """The expected loss of a row whose class is independent of its inputs, if y are classes."""
        ...


class Judgement(NamedTuple):
    """Losses of held-out rows, and the amount of added noise that minimises them."""

    rows: Float[np.ndarray, "V"]
    further: float | None = None
    """The expected loss of a row whose class is independent of its inputs, if y are classes."""
    more_noise: float = 0.0

    @property
    def losses(self) -> Float[np.ndarray, "V1"]:
        """The losses by which candidates are compared, including that of the further row.

        No errors among the held-out rows do not imply that there are none among new rows.
        """
        return self.rows if self.further is None else np.append(self.rows, self.further)


def judgement(
    models: Sequence[GP], judges: Sequence[Judge], *, more_noise: bool = False
) -> Judgement:
    """The losses of all held-out rows, each under the model of its own fold.

    Args:
        models: one for each fold.
        judges: the held-out rows of each fold.
        more_noise: whether the noise of all models is increased by the amount that minimises the
            mean loss, because an overfitted model underestimates the noise of its training rows.
    """
    pairs = list(zip(models, judges, strict=True))
    further = [judge.further_row(gp) for gp, judge in pairs]
    known = [value for value in further if value is not None]
    one_more = float(np.mean(known)) if known else None
    if not more_noise:
        return Judgement(np.concatenate([judge.rows(gp) for gp, judge in pairs]), one_more)
    by_noise = np.concatenate([judge.rows_by_noise(gp) for gp, judge in pairs], axis=1)
    means = np.mean(by_noise, axis=1)
    best = int(np.argmin(np.where(np.isfinite(means), means, np.inf)))
    return Judgement(by_noise[best], one_more, float(MORE_NOISE[best]))


def judged(
    runs: Sequence[Trained], judges: Sequence[Judge], *, more_noise: bool = False
) -> Judgement:
    """`judgement` of training runs; one infinite loss if they failed or if a loss is not finite.

    Args:
        runs: one for each fold.
        judges: the held-out rows of each fold.
        more_noise: see `judgement`.
    """
    failed = Judgement(np.full(1, np.inf))
    if any(run.reason == FAILED for run in runs):
        return failed
    found = judgement([run.gp for run in runs], judges, more_noise=more_noise)
    return found if np.all(np.isfinite(found.losses)) else failed
