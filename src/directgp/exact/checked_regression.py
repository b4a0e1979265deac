"""`checked_regression`: an exact GP with an estimate of the optimism of its leave-one-out errors.

Leave-one-out predictions exclude a row from the posterior, but not from the hyperparameters; with
many columns or few rows the errors are then too small. The optimism is estimated by rows that were
not used for the hyperparameters.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from directgp.exact.leave_one_out import LeaveOneOut, RowLoss, losses
from directgp.exact.matern_linear import MaternLinear
from directgp.exact.regression import ExactRegression, conditioned, row_loss
from directgp.exact.regression_objective import Problem, first_theta, minimised

_ROWS_FOR_FOLDS, _FOLDS = 150, 5
"""Up to this number of rows, hyperparameters are cross-fitted on folds."""
_WIDE_ROWS, _WIDE_FOLDS, _ROWS_EACH = 400, 3, 15
"""The same for wide tables: with fewer rows than this for each hyperparameter."""
_PRIOR_ROWS = 3.0
"""Pseudo-rows without optimism that are added to those of the folds."""
_SHARE_SEEN, _FEWEST_COMPARED = 0.7, 20
"""For more rows: the share used for first hyperparameters; the minimum of compared rows."""
_OPTIMISM_DEVIATION = 0.2
"""For more rows: deviation of a Gaussian prior on the log of the optimism."""
_LEAST_NAT = 1e-9


class CheckedRegression(NamedTuple):
    """An exact GP with the optimism of its leave-one-out errors."""

    gp: ExactRegression
    optimism: float
    """Errors of rows not used for the hyperparameters, relative to those of used rows; ≥ 1."""
    unseen: LeaveOneOut | None = None
    """For few rows: leave-one-out predictions with cross-fitted hyperparameters."""
    beyond: float = 1.0
    """Ratio of errors of new rows to those of `unseen`; above 1 for some wide tables."""

    @property
    def judged(self) -> LeaveOneOut:
        """The leave-one-out predictions that resemble predictions of new rows most."""
        return self.gp.left_out if self.unseen is None else self.unseen

    @property
    def judged_gp(self) -> ExactRegression | None:
        """The GP that `judged` are leave-one-out predictions of; None if folds have made them."""
        return self.gp if self.unseen is None else None

    def at_least(self, optimism: float) -> "CheckedRegression":
        """The same with errors of new rows at least this multiple of leave-one-out errors."""
        plain, judged = (
            float(np.mean(np.abs(self.gp.y - each.mean) / np.sqrt(each.variance)))
            for each in (self.gp.left_out, self.judged)
        )
        beyond = max(1.0, optimism * plain / judged) if judged > 0 else 1.0
        return self._replace(optimism=max(self.optimism, optimism), beyond=beyond)

    @property
    def further_optimism(self) -> float:
        """Ratio of errors of new rows to those of `judged`."""
        return self.optimism if self.unseen is None else self.beyond


def checked_regression(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    *,
    weight: Float[np.ndarray, "N"] | None = None,
    objective: str | RowLoss = "evidence",
    max_steps: int = 40,
    prior_deviation: float | int = 1.5,
    learn_from: int = 600,
    polish_steps: int = 4,
    seed: int = 0,
) -> CheckedRegression:
    """`exact_regression`, with an estimate of the optimism of leave-one-out errors.

    Up to 150 rows are split into five folds, and up to 400 with less than 15 rows for each
    hyperparameter into three. Hyperparameters learned from the other folds predict each row of a
    fold from all other rows. The optimism is the ratio of the standardised errors of these rows to
    those that the same hyperparameters make at the rows they were learned from. Of other tables,
    70 % are used for first hyperparameters, and the other rows are compared with these; the ratio
    is shrunk towards 1 by its standard error. Training of all rows continues from there. The
    optimism of three folds is not less than by this comparison, as folds may go on from what all
    rows have found. Other losses than the log loss start from its solution; there the mean loss is
    one unit beside the priors, which are in nats.

    Args:
        X: standardised inputs.
        y: standardised targets.
        weight: the weight of each row; a row of weight 2 counts as two.
        objective: "evidence", or the leave-one-out loss to minimise.
        max_steps: L-BFGS steps on a part of the rows.
        prior_deviation: deviation of the prior on log length-scales around √(2D).
        learn_from: rows used in the first steps, and at most 70 % of all.
        polish_steps: steps on all rows, if the first used `learn_from`; else a third of
            `max_steps`.
        seed: seed of the folds or the sample.

    Returns:
        The GP of all rows and its optimism; for few rows also their cross-fitted predictions.
    """
    rows = _Rows(X, y, np.ones(len(y)) if weight is None else weight)
    learn = _Learning(objective, max_steps, prior_deviation)
    if 1 < len(y) <= min(_ROWS_FOR_FOLDS, learn_from):
        return _by_folds(rows, learn, seed, _FOLDS)
    number = max(1, min(learn_from, int(_SHARE_SEEN * len(y))))
    seen = np.zeros(len(y), bool)
    seen[np.random.default_rng(seed).permutation(len(y))[:number]] = True
    first = learn.first(rows.of(seen))
    optimism = 1.0
    if min(number, len(y) - number) >= _FEWEST_COMPARED:
        left_out = rows.given(first.theta).left_out
        sizes = np.abs(y - left_out.mean) / np.sqrt(left_out.variance)
        optimism = _shrunk_ratio(sizes[seen], sizes[~seen])
    steps = polish_steps if number == learn_from else max_steps // 3
    theta = learn.further(rows, first, steps)
    wide = _ROWS_FOR_FOLDS < len(y) < _ROWS_EACH * len(theta)
    if wide and len(y) <= min(_WIDE_ROWS, learn_from):
        found = _by_folds(rows, learn, seed, _WIDE_FOLDS, first._replace(theta=theta))
        return found.at_least(optimism)
    return CheckedRegression(rows.given(theta), optimism)


class _Rows(NamedTuple):
    """Standardised rows with their weights."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]
    weight: Float[np.ndarray, "N"]

    def of(self, some: Bool[np.ndarray, "N"]) -> "_Rows":
        """Some of the rows."""
        return _Rows(self.X[some], self.y[some], self.weight[some])

    def given(self, theta: Float[np.ndarray, "P"]) -> ExactRegression:
        """The GP of these rows with these hyperparameters."""
        return conditioned(*self, MaternLinear(theta[:-1]), float(theta[-1]))


class _Learned(NamedTuple):
    """Hyperparameters, and the weight of the priors relative to the loss that they minimise."""

    theta: Float[np.ndarray, "P"]
    nat: float


class _Learning(NamedTuple):
    """How hyperparameters are learned."""

    objective: str | RowLoss
    max_steps: int
    prior_deviation: float | int

    def first(self, rows: _Rows) -> _Learned:
        """Learn from the default start; losses other than the log loss start at its solution."""
        theta, loss, nat = first_theta(rows.X.shape[1]), row_loss(self.objective), 1.0
        if loss is not None and self.objective != "log":
            theta = self._minimised(rows, losses.lookup("log"), theta, 1.0, self.max_steps)
            nat = _nat(loss, rows.given(theta))
        return _Learned(self._minimised(rows, loss, theta, nat, self.max_steps), nat)

    def further(self, rows: _Rows, start: _Learned, steps: int) -> Float[np.ndarray, "P"]:
        """Continue from hyperparameters learned on other rows."""
        loss = row_loss(self.objective)
        return self._minimised(rows, loss, start.theta, start.nat, steps)

    def objective_at(self, rows: _Rows, of: _Learned, theta: Float[np.ndarray, "P"]) -> float:
        """The objective at `theta`, with the weight of the priors in `of`."""
        loss = row_loss(self.objective)
        return Problem(*rows, loss, self.prior_deviation, of.nat)(theta)[0]

    def _minimised(
        self, rows: _Rows, loss: RowLoss | None, theta: Any, nat: float, steps: int
    ) -> Float[np.ndarray, "P"]:
        return minimised(Problem(*rows, loss, self.prior_deviation, nat), theta, steps)


def _by_folds(
    rows: _Rows, learn: _Learning, seed: int, folds: int, *further: _Learned
) -> CheckedRegression:
    """Predict each row from all others, with hyperparameters learned on the other folds.

    Objectives of few rows have several minima. The fit of all rows starts at the best minimum of a
    fold, and folds with a lower objective at its solution continue from there.

    Args:
        rows: all rows.
        learn: how hyperparameters are learned.
        seed: of the folds.
        folds: their number.
        further: other hyperparameters to start from, if these are better.
    """
    count = len(rows.y)
    fold = np.random.default_rng(seed).permutation(count) % min(folds, count)
    others = [rows.of(fold != number) for number in range(fold.max() + 1)]
    found = [learn.first(each) for each in others]
    start = min((*found, *further), key=lambda each: learn.objective_at(rows, each, each.theta))
    theta = learn.further(rows, start, learn.max_steps)
    mean, variance = np.empty(count), np.empty(count)
    seen = unseen = 0.0
    for number, (each, own) in enumerate(zip(others, found, strict=True)):
        if learn.objective_at(each, own, theta) < learn.objective_at(each, own, own.theta):
            own = _Learned(learn.further(each, own._replace(theta=theta), learn.max_steps), own.nat)
        left_out, aside = rows.given(own.theta).left_out, fold == number
        mean[aside], variance[aside] = left_out.mean[aside], left_out.variance[aside]
        squares = rows.weight * (rows.y - left_out.mean) ** 2 / left_out.variance
        unseen += float(squares[aside].sum())
        seen += float(squares[~aside].sum() / rows.weight[~aside].sum() * rows.weight[aside].sum())
    optimism = _ratio(seen, unseen, count)
    return CheckedRegression(rows.given(theta), optimism, LeaveOneOut(mean, variance))


def _ratio(seen: float, unseen: float, count: int) -> float:
    """Ratio of root mean squared errors, with pseudo-rows of no optimism, at least 1."""
    if not seen > 0:
        return 1.0
    share = count / (count + _PRIOR_ROWS)
    return float(np.sqrt(max(1.0, share * unseen / seen + 1.0 - share)))


def _nat(loss: RowLoss, gp: ExactRegression) -> float:
    """The weight of the priors for a loss other than the log loss: its mean value."""
    values, _, _ = loss(gp.y - gp.left_out.mean, np.sqrt(gp.left_out.variance))
    return max(float(np.average(values, weights=gp.weight)), _LEAST_NAT)


def _shrunk_ratio(seen: Float[np.ndarray, "N"], unseen: Float[np.ndarray, "M"]) -> float:
    """The ratio of mean absolute errors, shrunk in the logarithm by its standard error, ≥ 1."""
    means = np.mean(seen), np.mean(unseen)
    if not min(means) > 0:
        return 1.0
    error = np.var(seen) / (len(seen) * means[0] ** 2) + np.var(unseen) / (
        len(unseen) * means[1] ** 2
    )
    prior = _OPTIMISM_DEVIATION**2
    return float(np.exp(max(0.0, np.log(means[1] / means[0])) * prior / (prior + error)))
