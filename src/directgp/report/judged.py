"""The input of a report: predictions of a model for rows whose y is known, and the baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float

from directgp import metrics
from directgp.likelihoods import NegativeBinomialExp, PoissonExp
from directgp.predictive import ClassProbabilities, CountMixture, GaussianMixture, Predictive
from directgp.report.effects import Effect

LENGTH_SCALES = (
    "How fast f varies along each input: 1 / length-scale, as a share of the total (ARD). It "
    "includes inputs that matter only in interactions."
)
"""Explanation of the relevance of inputs if it comes from a kernel."""

LEVEL = 0.9
"""Nominal coverage of the intervals in a report."""


class Targets(NamedTuple):
    """Summary statistics of the training targets, for a baseline without inputs."""

    mean: float
    variance: float
    counts: tuple[int, ...]
    """Rows of each class 0, 1, …; empty unless y are class numbers."""

    @classmethod
    def of(cls, y: Any, num_classes: int = 0) -> "Targets":
        """The summary of training targets.

        Args:
            y: the targets, or class numbers.
            num_classes: the number of classes; 0 for regression and counts.
        """
        y = np.asarray(y, dtype=np.float64)
        counts = np.bincount(y.astype(np.intp), minlength=num_classes) if num_classes else ()
        return cls(float(np.mean(y)), float(np.var(y)), tuple(int(c) for c in counts))


@dataclass(frozen=True)
class Judged:
    """Predictions of one model with the observed targets, and its training history."""

    name: str
    predictive: Predictive
    y: Float[np.ndarray, "N"]
    history: Mapping[str, Sequence[float | int]] = field(default_factory=dict)
    beta: float | None = None
    beta_curve: Mapping[float, float] = field(default_factory=dict)
    relevance: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    relevance_means: str = LENGTH_SCALES
    baselines: Mapping[str, Predictive] = field(default_factory=dict)
    """Predictions of baselines for the same rows: a linear model, boosted trees."""
    effects: Mapping[str, Effect] = field(default_factory=dict)
    """Effects of the most relevant columns on the prediction."""


@dataclass(frozen=True)
class Table:
    """The predicted rows in the user's names and units.

    Args:
        name: the name of the table.
        target: the name of the target.
        classes: the class labels.
        columns: the columns to show with the worst rows.
        row_names: the names of the rows, by default their positions.
        training: summary of the training targets for the baseline; by default of the evaluated
            rows, which makes the baseline slightly too good.
        warning: shown at the top.
        facts: description of the model.
        hints: what to try next, shown at the top.
    """

    name: str
    target: str = "y"
    classes: Sequence[Any] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    row_names: Sequence[Any] | None = None
    training: Targets | None = None
    warning: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    hints: Sequence[str] = ()

    def row_name(self, place: int) -> str:
        """The name of an evaluated row."""
        return f"row {place + 1:,}" if self.row_names is None else str(self.row_names[place])

    @property
    def row_order(self) -> str:
        """How rows are numbered, for a caption."""
        if self.row_names is None:
            return "rows are counted from 1"
        return "rows are numbered as in the table, from 1 and without its header"

    def class_name(self, number: int) -> str:
        """The label of a class number."""
        return str(number) if self.classes is None else str(self.classes[number])


def baseline(predictive: Predictive, known: Targets) -> Predictive:
    """The best prediction without inputs, repeated for the rows of `predictive`.

    Cached, so that its scores are computed once.

    Args:
        predictive: the predictions of a model.
        known: summary of the training targets.
    """
    made = _baselines.setdefault(predictive, {})
    if known not in made:
        made[known] = _baseline(predictive, known)
    return made[known]


_baselines: WeakKeyDictionary[Predictive, dict[Targets, Predictive]] = WeakKeyDictionary()


_LARGE = 1e150
"""The square of larger numbers overflows."""


@singledispatch
def _baseline(predictive: Predictive, known: Targets) -> Predictive:
    """Numbers: the Gaussian with the mean and variance of y."""
    rows = len(predictive)
    least = 1e-12 * (1.0 + min(abs(known.mean), _LARGE) ** 2)
    spread = min(max(known.variance, least), _LARGE**2)
    return GaussianMixture(np.full((1, rows), known.mean), np.full((1, rows), spread), np.zeros(1))


@_baseline.register
def _(predictive: ClassProbabilities, known: Targets) -> Predictive:
    """The share of each class, with one row of each added to avoid zero probabilities."""
    counts = np.ones(predictive.num_classes)
    counts[: len(known.counts)] += known.counts
    return ClassProbabilities(np.tile(np.log(counts / counts.sum()), (len(predictive), 1)))


@_baseline.register
def _(predictive: CountMixture, known: Targets) -> Predictive:
    """The negative binomial with the mean and variance of y; Poisson if it is no wider than one."""
    mean = max(known.mean, 1e-3)
    latent = np.full((1, len(predictive), 1), np.log(mean))
    likelihood = PoissonExp()
    if known.variance > 1.01 * mean:
        likelihood = NegativeBinomialExp((known.variance - mean) / mean**2)
    return likelihood.predictive(latent, np.zeros_like(latent), np.zeros(1))


@singledispatch
def pit(predictive: Predictive, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """PIT values: the cdf at y, uniform for a calibrated model; randomised for counts.

    Args:
        predictive: predictions.
        y: the observed targets.
    """
    return metrics.pit(predictive, y)


@pit.register
def _(predictive: CountMixture, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    return metrics.randomised_pit(predictive, y, seed=0)


def scores_with_errors(
    predictive: Predictive, y: Float[np.ndarray, "N"]
) -> dict[str, tuple[float, float]]:
    """All scores with standard errors; coverage is computed from the PIT.

    For numbers that is the share of rows inside their intervals. Closed intervals of counts cover
    more than the nominal level even for the true model; the randomised PIT does not.

    Args:
        predictive: predictions.
        y: the observed targets.
    """
    found = metrics.score_table_with_errors(predictive, y, LEVEL)
    if "coverage" in found:
        inside = np.abs(pit(predictive, y) - 0.5) <= LEVEL / 2
        found["coverage"] = metrics.standard_error(inside.astype(np.float64))
    if isinstance(predictive, ClassProbabilities) and len(np.unique(y)) > 1:
        found["auc"] = metrics.auc_with_error(predictive, y)
    return found
