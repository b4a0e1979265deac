"""The training loop: compiled chunks of Adam steps, rolled back if they are not finite."""

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from directgp.likelihoods.base import Likelihood
from directgp.linalg.blas_threads import one_blas_thread
from directgp.models.base import Model
from directgp.objective import Batch
from directgp.parameters import float64, on_device, random_key, split_trainable
from directgp.training.adam import AdamState
from directgp.training.chunk import Descent, ObjectiveFunction, run_chunk
from directgp.training.schedule import learning_rates

_MOST_FAILURES = 6
FAILED = "repeated non-finite values"
"""`Trained.reason` of a run that could not continue."""
OUT_OF_TIME = "time budget spent"
"""`Trained.reason` of a run that ended at its deadline."""


class TrainingWarning(UserWarning):
    """Training ended in an unusual way."""


class GP(NamedTuple):
    """A model and the likelihood that turns its latent values into observations."""

    model: Model
    likelihood: Likelihood


History = dict[str, list]
"""Per chunk: the last step, the means of "objective", "risk" and "penalty", and "validation"."""


def no_history() -> History:
    """The history of a run before its first chunk."""
    return {name: [] for name in ("step", "objective", "risk", "penalty", "validation")}


@dataclass(frozen=True)
class Settings:
    """The number of steps, the learning rate and the stopping criteria of a run.

    `batch_size` None means full batch. A full-batch run also ends when the objective per row
    changed by at most `tolerance` over `window` steps (`dlm-supp` section 4); a mini-batch run uses
    the mean over a chunk instead of a step. After `patience` chunks without a better validation
    loss a run ends. `steps` is rounded up to whole chunks. A run ends after the first chunk that
    passes `deadline`.
    """

    steps: int
    batch_size: int | None
    learning_rate: float = 0.05
    quick: float = 1.0
    """Factor of the learning rate for parts that declare rate="fast"; see `rate_factors`."""
    decay: bool = True
    chunk: int = 50
    seed: int = 0
    tolerance: float = 1e-4
    window: int = 50
    patience: int | None = None
    deadline: float = math.inf
    thorough: bool = False
    """Whether to optimise the program for long runs, which takes twice as long to compile."""
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    """The clock of `deadline`; a team shares one."""

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline < math.inf and self.clock() > self.deadline


@dataclass(frozen=True)
class State:
    """The state from which a resumed run continues with bitwise the same result.

    It is immutable, so an interrupt at any time leaves the last complete state intact. `proven` are
    parameters at which the objective was finite; `learned` is the result of the last step, at
    which it has not been evaluated.
    """

    learned: PyTree
    moments: PyTree
    proven: PyTree
    step: int = 0
    rate_factor: float = 1.0
    failures: int = 0
    best_validation: float = math.inf
    best_learned: PyTree = None
    since_best: int = 0
    fallback: int = 0
    done: str = ""
    recent: list[float] = field(default_factory=list)
    history: History = field(default_factory=no_history)


class Guard(NamedTuple):
    """The objectives that replace the current one, in order, when `is_safe` is false for it."""

    is_safe: Callable[[GP, Any], bool]
    instead: tuple[ObjectiveFunction, ...]


class Trained(NamedTuple):
    """The result of training: the learned GP, why training ended, and its history."""

    gp: GP
    reason: str
    history: History


class Feed(ABC):
    """Training rows that are not all in memory; those of a chunk are read when it starts."""

    num_rows: int

    @abstractmethod
    def descend(self, descent: Descent, settings: Settings, first: int, count: int) -> Any:
        """Run the steps first … first+count−1 on their rows; see `run_chunk`.

        Args:
            descent: parameters, optimiser state and objective.
            settings: of the run.
            first: the number of the first step.
            count: of steps.
        """


@lru_cache(maxsize=1)  # an epoch of a million rows is ten chunks: shuffle once, not ten times
def _shuffled_rows(seed: int, epoch: int, num_rows: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(np.arange(num_rows, dtype=np.int32))


def _rows_of_steps(settings: Settings, num_rows: int, first: int, count: int):
    """Row numbers of steps first … first+count−1: each epoch is its own seeded shuffle."""
    if settings.batch_size is None or settings.batch_size >= num_rows:
        return None
    per_epoch = num_rows // settings.batch_size
    chosen = []
    for epoch in range(first // per_epoch, (first + count - 1) // per_epoch + 1):
        shuffle = _shuffled_rows(settings.seed, epoch, num_rows)
        batches = shuffle[: per_epoch * settings.batch_size].reshape(per_epoch, -1)
        start = max(first - epoch * per_epoch, 0)
        stop = min(first + count - epoch * per_epoch, per_epoch)
        chosen.append(batches[start:stop])
    return np.concatenate(chosen)


def _descend(data: Batch, descent: Descent, settings: Settings, first: int, count: int):
    """Run the steps first … first+count−1 on rows in memory."""
    rows = _rows_of_steps(settings, int(data.y.shape[0]), first, count)
    order = None if rows is None else on_device(rows)
    return run_chunk(descent, data, order, thorough=settings.thorough)


def _first_moments(learned: PyTree) -> PyTree:
    """The same as `adam.init`, in NumPy, because JAX would compile a program for every shape."""
    zeros = jax.tree.map(lambda leaf: on_device(np.zeros(leaf.shape, leaf.dtype)), learned)
    return AdamState(on_device(np.int32(0)), zeros, zeros)


def start(gp: GP) -> State:
    """A fresh state for `run`."""
    learned, _ = split_trainable(gp)
    return State(learned, _first_moments(learned), learned)


@float64
def run(
    gp: GP,
    objective: ObjectiveFunction,
    data: Batch | Feed,
    settings: Settings,
    *,
    beta: float | np.ndarray,
    validation: Callable[[GP], float] | None = None,
    state: State | None = None,
    after_chunk: Callable[[State], Any] | None = None,
    guard: Guard | None = None,
) -> Trained:
    """Minimise the objective by Adam, starting from the parameters of `gp`.

    Args:
        gp: the model and the likelihood to train.
        objective: what is minimised.
        data: the training rows.
        settings: the number of steps, the learning rate, when to stop.
        beta: the weight of the divergence, one number or one for each layer.
        validation: the validation loss of a GP, evaluated after every chunk; with it the
            parameters of the smallest loss are returned, not the last ones.
        state: a state to resume from.
        after_chunk: is called with the state after every chunk (progress, checkpoints).
        guard: when the precision of the objective no longer suffices, and what replaces it.

    Returns:
        The trained GP, the reason why training ended, and the history.
    """
    _, fixed = split_trainable(gp)
    state = state or start(gp)
    key = random_key(settings.seed)
    beta_array = on_device(beta, np.float64)
    objectives = (objective, *(() if guard is None else guard.instead))
    last = len(objectives) - 1
    with one_blas_thread():
        while not state.done and state.step < settings.steps:
            count = settings.chunk
            rates = state.rate_factor * learning_rates(
                state.step, count, settings.steps, settings.learning_rate, decay=settings.decay
            )
            while guard is not None and state.fallback < last:
                if guard.is_safe(eqx.combine(state.learned, fixed), objectives[state.fallback]):
                    break
                state = replace(state, fallback=state.fallback + 1)
            descent = Descent(
                state.learned,
                state.moments,
                fixed,
                objectives[state.fallback],
                on_device(rates),
                beta_array,
                on_device(state.step),
                key,
                settings.quick,
            )
            descend = data.descend if isinstance(data, Feed) else partial(_descend, data)
            (learned, moments), trace = descend(descent, settings, state.step, count)
            trace = [np.asarray(part) for part in trace]
            if _all_finite(learned, moments, trace):
                state = replace(
                    state,
                    learned=learned,
                    moments=moments,
                    proven=state.learned,
                    step=state.step + count,
                )
                state = _validated(_recorded(state, trace, settings), validation, fixed, settings)
            else:
                start_is_good = all(np.isfinite(part[0]) for part in trace)
                state = _rolled_back(state, start_is_good, fallback=last)
            if not state.done and settings.out_of_time:
                state = replace(state, done=OUT_OF_TIME)
            if after_chunk is not None:
                after_chunk(state)
    use_best = validation is not None and state.best_learned is not None
    learned = state.best_learned if use_best else state.learned
    return Trained(eqx.combine(learned, fixed), state.done or "all steps done", state.history)


def _all_finite(*trees: PyTree) -> bool:
    return all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(trees))


def _rolled_back(state: State, start_is_good: bool, fallback: int) -> State:
    """Discard the chunk and continue from the last parameters with a finite objective.

    The learning rate is reduced, and the precision is the most exact one. If the first value of the
    chunk was not finite, the parameters before the previous step are used.
    """
    learned = state.learned if start_is_good else state.proven
    failures = state.failures + 1
    done = FAILED if failures >= _MOST_FAILURES else ""
    if done:
        warnings.warn(
            f"training met non-finite values {failures} times and stopped at step {state.step}; "
            + (
                "the last good parameters are those of the start, nothing was learned; try another "
                "kernel (one's derivative may not be finite where rows coincide), check the data's "
                "scale or lower learning_rate"
                if state.step == 0
                else "the last good parameters are used; check the data's scale, lower "
                "learning_rate or raise beta"
            ),
            TrainingWarning,
            stacklevel=3,
        )
    return replace(
        state,
        learned=learned,
        proven=learned,
        moments=_first_moments(learned),
        done=done,
        failures=failures,
        rate_factor=0.3 * state.rate_factor,
        fallback=fallback,
    )


def _recorded(state: State, trace: list[np.ndarray], settings: Settings) -> State:
    """The state with the chunk's averages in its history; done if the objective is constant."""
    total, risk, penalty = trace
    newest = {
        "step": state.step,
        "objective": float(total.mean()),
        "risk": float(risk.mean()),
        "penalty": float(penalty.mean()),
    }
    history = state.history | {name: [*state.history[name], new] for name, new in newest.items()}
    values = total.tolist() if settings.batch_size is None else [newest["objective"]]
    recent = [*state.recent, *values][-settings.window :]
    flat = len(recent) == settings.window and np.ptp(recent) <= settings.tolerance
    return replace(state, history=history, recent=recent, done="converged" if flat else "")


def _validated(state: State, validation, fixed: PyTree, settings: Settings) -> State:
    """The state with its validation loss; done if that has not fallen for too long."""
    if validation is None:
        return state
    value = validation(eqx.combine(state.learned, fixed))
    history = state.history | {"validation": [*state.history["validation"], value]}
    if value < state.best_validation:
        return replace(
            state, history=history, since_best=0, best_validation=value, best_learned=state.learned
        )
    since_best, done = state.since_best + 1, state.done
    if settings.patience is not None and since_best >= settings.patience:
        done = "validation loss no longer falls"
    return replace(state, history=history, since_best=since_best, done=done)
