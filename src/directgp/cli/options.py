"""Options that several commands share, each with the sentence its help shows."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer


def under(panel: str) -> Callable[..., Any]:
    """A function that declares options, shown in the help under a heading.

    Args:
        panel: the heading.

    Returns:
        A function of the sentence that explains an option, of its metavar, and of its names where
        they are not the parameter's.
    """

    def option(text: str, metavar: str | None = None, *names: str) -> Any:
        return typer.Option(*names, metavar=metavar, rich_help_panel=panel, help=text)

    return option


what, how, out = under("What to learn"), under("How to train"), under("Output")

Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A CSV or Parquet file with a header.", show_default=False),
]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A file written by directgp fit.", show_default=False),
]
Target = Annotated[
    str | None,
    what(
        "The column to predict. Default: one called y, target, label …, else the last.",
        "COLUMN",
        "--target",
        "-t",
    ),
]
Targets = Annotated[
    list[str] | None,
    what(
        "The column to predict, or several, each with its own --target, learned together. "
        "Default: one called y, target, label …, else the last.",
        "COLUMN",
        "--target",
        "-t",
    ),
]
Task = Annotated[
    str,
    what(
        "regression, classes or counts; auto decides by the target's values and prints it.", "KIND"
    ),
]
Drop = Annotated[
    list[str] | None,
    what("A column that is not an input (an identifier); may be given several times.", "COLUMN"),
]
Category = Annotated[
    list[str] | None,
    what(
        "A column of labels that look like numbers (postcodes); may be given several times.",
        "COLUMN",
    ),
]
Missing = Annotated[
    str,
    what(
        "Missing inputs: indicator (median, and marked), median, mean, or error (refused).", "HOW"
    ),
]
Likelihood = Annotated[
    str,
    how(
        "gaussian, student-t, bernoulli, categorical, poisson, negative-binomial …; "
        "auto follows the task.",
        "NAME",
    ),
]
Loss = Annotated[
    str,
    how(
        "log (calibrated distributions), crps, square (means), pinball, elbo, joint-log (several "
        "targets together), …; direct-log is log.",
        "NAME",
    ),
]
Beta = Annotated[
    str,
    how(
        "Weight of the penalty of one GP; auto chooses it on held-out rows (with several layers: "
        "1), pac-bayes is √n.",
        "auto|NUMBER",
    ),
]
Kernel = Annotated[
    str, how("Of one GP: matern52 (default), matern32, matern12, rbf or linear.", "NAME")
]
Layers = Annotated[
    str,
    how(
        "1 is a sparse GP, more a deep one; auto leaves it to the other options. "
        "A number trains one GP instead of the default stack.",
        "auto|NUMBER",
    ),
]
Robust = Annotated[
    str | None,
    how("beta or gamma: a log loss that is robust to outliers, for direct-log and elbo.", "NAME"),
]
RobustPower = Annotated[
    float | None, how("How robust, above 1. Default: 1.1 for beta, 1.05 for gamma.", "P")
]
NumInducing = Annotated[int | None, how("Inducing points. Default: 3√n, between 20 and 500.", "M")]
Epochs = Annotated[
    int | None,
    how("Passes over more than 1000 rows. Default: 60, or as many as make 1000 steps.", "E"),
]
MaxSteps = Annotated[int | None, how("Steps, for at most 1000 rows. Default: 2000.", "S")]
TimeBudget = Annotated[float | None, how("Train for about this long at most.", "SECONDS")]
Holdout = Annotated[
    float | None,
    how(
        "Share of rows held out for the scores, which the saved model never sees; 0 trains on all "
        "rows. Default: 0.1 (compare: 0.2), and 0 for fewer than 50 rows.",
        "SHARE",
    ),
]
Seed = Annotated[int, how("Same seed, same result.", "N")]
Cost = Annotated[
    Path | None,
    typer.Option(
        "--cost", metavar="TOML", show_default=False,
        help="A file that says what mistakes cost. Default: the cost the model was trained for.",
    ),
]  # fmt: skip
TrainCost = Annotated[
    Path | None,
    how("Train for decisions: a file that says what mistakes cost (see directgp decide).", "TOML"),
]
Inference = Annotated[
    str | None,
    how(
        "Numbers, up to 5000 rows: exact. Two classes, up to 2000 rows: laplace, ep, loss-ep, and "
        "with --cost loss-em, linearised-loss-em, ep-loss-em.",
        "NAME",
    ),
]
TestInputs = Annotated[
    Path | None,
    how("The rows that decisions are for, for a loss-EM. Default: the training rows.", "TABLE"),
]
TestWeight = Annotated[
    str | None,
    how("How often each of these rows is met, for a loss-EM (covariate shift).", "COLUMN"),
]
Transductive = Annotated[
    bool,
    typer.Option(
        "--transductive",
        help="Run the loss-EM of MODEL for these rows: posterior and decisions fit each other.",
    ),
]
Report = Annotated[
    Path | None, out("Write a page with figures: one file, no network needed.", "HTML")
]
Json = Annotated[bool, out("One JSON object on stdout.", None, "--json")]
Quiet = Annotated[bool, out("Print errors only.", None, "--quiet", "-q")]


def given(arguments: Sequence[str]) -> set[str]:
    """The options that were given on the command line and not left at their defaults.

    >>> sorted(given(["fit", "t.csv", "--max-steps=5", "--holdout", "0.2", "-q"]))
    ['holdout', 'max_steps']
    """
    flags = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    return {flag[2:].replace("-", "_") for flag in flags}
