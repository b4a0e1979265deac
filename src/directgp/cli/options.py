"""Options that several commands share, each with its help text."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer


def under(panel: str) -> Callable[..., Any]:
    """A function that declares options under one heading of the help.

    Args:
        panel: the heading.

    Returns:
        A function of the help text, the metavar, and the flags if they differ from the name of the
        parameter.
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
        "The column to predict; give it several times for targets that are modelled jointly. "
        "Default: one called y, target, label …, else the last.",
        "COLUMN",
        "--target",
        "-t",
    ),
]
Task = Annotated[
    str,
    what("regression, classes or counts; auto chooses by the values of the target.", "KIND"),
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
        "Missing inputs: indicator (median with an indicator column), median, mean, or error.",
        "HOW",
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
        "log (calibrated distributions), crps, square (means), pinball, elbo, joint-log (joint "
        "density of several targets), …; direct-log is log.",
        "NAME",
    ),
]
Beta = Annotated[
    str,
    how(
        "Weight of the divergence, for one GP; auto chooses it on held-out rows (with several "
        "layers: 1), pac-bayes is √n.",
        "auto|NUMBER",
    ),
]
Kernel = Annotated[
    str, how("Kernel of one GP: matern52 (default), matern32, matern12, rbf or linear.", "NAME")
]
Layers = Annotated[
    str,
    how(
        "1 is a sparse GP, more a deep one; auto depends on the other options. "
        "A number trains one GP instead of the default stack.",
        "auto|NUMBER",
    ),
]
Robust = Annotated[
    str | None,
    how("beta or gamma: a log loss that is robust to outliers, for direct-log and elbo.", "NAME"),
]
RobustPower = Annotated[
    float | None, how("Power of --robust, above 1. Default: 1.1 for beta, 1.05 for gamma.", "P")
]
NumInducing = Annotated[int | None, how("Inducing points. Default: 3√n, between 20 and 500.", "M")]
Epochs = Annotated[
    int | None,
    how("Epochs, for more than 1000 rows. Default: 60, or as many as make 1000 steps.", "E"),
]
MaxSteps = Annotated[int | None, how("Steps, for at most 1000 rows. Default: 2000.", "S")]
TimeBudget = Annotated[float | None, how("Approximate limit of the training time.", "SECONDS")]
Holdout = Annotated[
    float | None,
    how(
        "Share of rows held out for the scores and never used in training; 0 trains on all rows. "
        "Default: 0.1 (compare: 0.2), and 0 for fewer than 50 rows.",
        "SHARE",
    ),
]
Seed = Annotated[int, how("Seed of random numbers.", "N")]
Cost = Annotated[
    Path | None,
    typer.Option(
        "--cost", metavar="TOML", show_default=False,
        help="A cost file. Default: the cost that the model was trained for.",
    ),
]  # fmt: skip
TrainCost = Annotated[
    Path | None,
    how("Train for decisions with the cost in this file (see directgp decide).", "TOML"),
]
Inference = Annotated[
    str | None,
    how(
        "Regression, up to 5000 rows: exact. Two classes, up to 2000 rows: laplace, ep, loss-ep, "
        "and with --cost loss-em, linearised-loss-em, ep-loss-em.",
        "NAME",
    ),
]
TestInputs = Annotated[
    Path | None,
    how("Test rows of a loss-EM, which decisions are for. Default: the training rows.", "TABLE"),
]
TestWeight = Annotated[
    str | None,
    how("Weights of the test rows of a loss-EM (covariate shift).", "COLUMN"),
]
Transductive = Annotated[
    bool,
    typer.Option(
        "--transductive",
        help="Run the loss-EM of MODEL for these rows (posterior and decisions jointly).",
    ),
]


def output_option(metavar: str, text: str, show_default: bool = False) -> Any:
    """The option --output of a command.

    Args:
        metavar: what is written: "MODEL" or "TABLE".
        text: the help text.
        show_default: whether the help shows the default.
    """
    return typer.Option(
        "--output", "--out", "-o", metavar=metavar, rich_help_panel="Output",
        show_default=show_default, help=text,
    )  # fmt: skip


TableOutput = Annotated[
    Path | None, output_option("TABLE", "A CSV or Parquet file. Default: CSV on stdout.")
]
Keep = Annotated[
    list[str] | None,
    out("A column of DATA to repeat in the output; may be given several times.", "COLUMN"),
]
Resume = Annotated[
    bool | None,
    typer.Option(
        "--resume/--fresh", rich_help_panel="How to train", show_default=False,
        help="Continue an interrupted run, or delete it and start over.",
    ),
]  # fmt: skip
Report = Annotated[Path | None, out("Write an HTML report: one self-contained file.", "HTML")]
Json = Annotated[bool, out("Print one JSON object on stdout.", None, "--json")]
Quiet = Annotated[bool, out("Print errors only.", None, "--quiet", "-q")]


def flag(name: str) -> str:
    """The option of the command line for a parameter.

    >>> flag("max_steps")
    '--max-steps'
    """
    return f"--{name.replace('_', '-')}"


def given(arguments: Sequence[str]) -> set[str]:
    """The options that were given on the command line and not left at their defaults.

    >>> sorted(given(["fit", "t.csv", "--max-steps=5", "--holdout", "0.2", "-q"]))
    ['holdout', 'max_steps']
    """
    flags = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    return {flag[2:].replace("-", "_") for flag in flags}
