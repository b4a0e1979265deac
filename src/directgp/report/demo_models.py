"""The models of the demonstration, for the report of ``directgp demo`` and `demo_picture`.

Trains three sparse GPs that differ only in the loss, on data that needs no download:

    ELBO      Gibbs(log), β = 1: variational inference
    β-ELBO    Gibbs(log), β chosen on validation rows
    direct    Direct(log), β chosen on validation rows in the same way

The first problem is generated, with known truth and noise that depends on x. All three models have
one constant noise level, so they are misspecified. The ELBO fits that level and predicts the same
standard deviation everywhere; the direct loss scores the predictive distribution, so the variance
of f follows the local noise. The second is a small real table of scikit-learn, on which the gain is
small.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from rich.table import Table
from sklearn.datasets import load_diabetes

from directgp import metrics
from directgp.fitting.fit import fit
from directgp.fitting.specs import Sparse, Training
from directgp.predictive import GaussianMixture, Predictive

LEVEL = 0.9
END = 10.0


class Method(NamedTuple):
    """A row of the score table: the arguments of `fit`."""

    name: str
    loss: str
    beta: float | Literal["auto"]


METHODS = (
    Method("ELBO", "elbo", 1.0),
    Method("β-ELBO", "elbo", "auto"),
    Method("direct", "direct-log", "auto"),
)


class Rows(NamedTuple):
    """Some rows of a table."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]

    def take(self, rows: Int[np.ndarray, "K"]) -> "Rows":
        """The rows with these numbers."""
        return Rows(self.X[rows], self.y[rows])


class Split(NamedTuple):
    """Training rows, validation rows (to choose β) and test rows."""

    train: Rows
    validation: Rows
    test: Rows


class Problem(NamedTuple):
    """A data set with one or several splits; scores are over the test rows of all splits."""

    name: str
    splits: tuple[Split, ...]
    num_inducing: int
    steps: int
    test_truth: Predictive | None = None


class Outcome(NamedTuple):
    """The results of one method on one problem."""

    predictive: Predictive
    y: Float[np.ndarray, "N"]
    betas: tuple[float, ...]
    seconds: float
    history: Mapping[str, Sequence[float | int]] = {}
    """Training history of the first split."""
    beta_curve: Mapping[float, float] = {}


# ---------------------------------------------------------------- the problems


def true_mean(x: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """E[y | x] of the generated problem."""
    return np.sin(1.3 * x) + 0.1 * x


def true_std(x: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """Standard deviation of the noise: small, but ten times larger around x = 7."""
    return 0.08 + 0.9 * np.exp(-0.5 * ((x - 7.0) / 1.2) ** 2)


def truth(x: Float[np.ndarray, "N"]) -> GaussianMixture:
    """The distribution of y at x, whose expected scores no model can improve on."""
    return GaussianMixture(true_mean(x)[None], true_std(x)[None] ** 2, np.zeros(1))


def generated(seed: int, quick: bool) -> Problem:
    """One input, known truth, noise that varies with x.

    Args:
        seed: seed of the rows.
        quick: fewer rows and steps.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for num_rows in (200, 100, 400) if quick else (1000, 400, 4000):
        x = rng.uniform(0.0, END, num_rows)
        parts.append(Rows(x[:, None], truth(x).sample(1, seed=int(rng.integers(2**31)))[0]))
    split = Split(*parts)
    at_test = truth(split.test.X[:, 0])
    return Problem("generated: noise varies with x", (split,), 30, 300 if quick else 1500, at_test)


def diabetes(seed: int) -> Problem:
    """Progression of diabetes after a year, from ten measurements of a patient: five folds."""
    X, y = load_diabetes(return_X_y=True)
    rows = Rows(np.asarray(X), np.asarray(y))
    test_size = validation_size = 88
    # Folds of equal size, so that the compiled program of the first is reused.
    order = np.random.default_rng(seed).permutation(len(y))[: 5 * test_size]
    splits = []
    for fold in range(5):
        rest = np.roll(order, -fold * test_size)
        test, validation, train = np.split(rest, [test_size, test_size + validation_size])
        splits.append(Split(rows.take(train), rows.take(validation), rows.take(test)))
    return Problem("diabetes: progression", tuple(splits), 40, 1500)


# ---------------------------------------------------------------- training and scoring


def train(method: Method, problem: Problem, seed: int) -> Outcome:
    """Fit every split and predict its test rows.

    Args:
        method: the training objective.
        problem: the data.
        seed: seed of training.
    """
    fits = [
        fit(
            *split.train,
            loss=method.loss,
            beta=method.beta,
            validation=tuple(split.validation),
            model=Sparse(num_inducing=problem.num_inducing),
            training=Training(max_steps=problem.steps),
            seed=seed,
            verbose=False,
        )
        for split in problem.splits
    ]
    predictions = [
        fitted.predict(split.test.X) for fitted, split in zip(fits, problem.splits, strict=True)
    ]
    return Outcome(
        _joined(predictions),
        np.concatenate([split.test.y for split in problem.splits]),
        tuple(fitted.beta for fitted in fits),
        sum(fitted.seconds for fitted in fits),
        fits[0].history,
        fits[0].beta_curve,
    )


def _joined(predictions: list[Predictive]) -> GaussianMixture:
    """Concatenate the predictions of several sparse GPs, one Gaussian per row."""
    means = np.concatenate([p.mean for p in predictions])
    variances = np.concatenate([p.variance for p in predictions])
    return GaussianMixture(means[None], variances[None], np.zeros(1))


def paired(first: Outcome, second: Outcome, score: str) -> tuple[float, float]:
    """Mean difference of a row score on the same test rows, with its standard error.

    Args:
        first: one outcome.
        second: the outcome that is subtracted.
        score: a name of `metrics.row_scores`.
    """
    scores = [metrics.row_scores(o.predictive, o.y, LEVEL)[score] for o in (first, second)]
    return metrics.standard_error(scores[0] - scores[1])


def is_clear(difference: tuple[float, float]) -> bool:
    """Whether a difference is larger than two of its standard errors."""
    return abs(difference[0]) > 2 * difference[1]


# ---------------------------------------------------------------- what is shown


def score_table(problem: Problem, outcomes: dict[str, Outcome]) -> Table:
    """Test scores of every method with standard errors.

    Args:
        problem: the data.
        outcomes: results by method.
    """
    rows = sum(len(split.test.y) for split in problem.splits)
    title = f"{problem.name} ({rows} test rows)"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    for heading in ("β", "NLL", "RMSE", "CRPS", f"in {LEVEL:.0%} interval", "fit s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, outcome in outcomes.items():
        beta, seconds = f"{np.median(outcome.betas):.3g}", f"{outcome.seconds:.1f}"
        table.add_row(name, beta, *_scores(outcome.predictive, outcome.y), seconds)
    if problem.test_truth is not None:
        y = problem.splits[0].test.y
        table.add_row("true distribution", "", *_scores(problem.test_truth, y), "")
    return table


def _scores(predictive: Predictive, y: Float[np.ndarray, "N"]) -> list[str]:
    found = metrics.score_table_with_errors(predictive, y, LEVEL)
    shown = []
    for name in ("nll", "rmse", "crps"):
        mean, error = found[name]
        digits = 3 if error < 1 else 1
        shown.append(f"{mean:.{digits}f} ± {error:.{digits}f}")
    mean, error = found["coverage"]
    return [*shown, f"{100 * mean:.1f} ± {100 * error:.1f} %"]


def verdict(outcomes: dict[str, Outcome]) -> str:
    """A sentence on whether the direct loss is clearly better, clearly worse or neither."""
    direct = outcomes["direct"]
    against = {name: paired(direct, outcomes[name], "nll") for name in ("ELBO", "β-ELBO")}
    if all(is_clear(d) and d[0] < 0 for d in against.values()):
        result = "The direct loss is better"
    elif any(is_clear(d) and d[0] > 0 for d in against.values()):
        result = "The direct loss is not better"
    else:
        result = "No clear difference"
    parts = [f"{mean:+.3f} ± {error:.3f} against {n}" for n, (mean, error) in against.items()]
    sentences = [f"{result}: NLL per row {' and '.join(parts)} (below zero is better)."]
    error = paired(direct, outcomes["ELBO"], "mse")
    means = [metrics.rmse(o.predictive, o.y) for o in (direct, outcomes["ELBO"])]
    if is_clear(error):
        comparison = "worse" if error[0] > 0 else "better"
        sentences.append(
            f"Its mean is {comparison} than the ELBO's (RMSE {means[0]:.4g} and {means[1]:.4g})."
        )
    else:
        sentences.append("Its mean is about as good as the ELBO's.")
    return " ".join(sentences)
