"""Options that several commands share, each with the sentence its help shows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

_WHAT, _HOW, _OUT = "What to learn", "How to train", "Output"

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
    typer.Option(
        "--target", "-t", metavar="COLUMN", rich_help_panel=_WHAT, show_default=False,
        help="The column to predict. Default: one called y, target, label …, else the last.",
    ),
]  # fmt: skip
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", rich_help_panel=_WHAT, show_default=False,
        help="The column to predict, or several, each with its own --target, learned together. "
        "Default: one called y, target, label …, else the last.",
    ),
]  # fmt: skip
Task = Annotated[
    str,
    typer.Option(
        metavar="KIND", rich_help_panel=_WHAT,
        help="regression, classes or counts; auto decides by the target's values and prints it.",
    ),
]  # fmt: skip
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", metavar="COLUMN", rich_help_panel=_WHAT, show_default=False,
        help="A column that is not an input (an identifier); may be given several times.",
    ),
]  # fmt: skip
Category = Annotated[
    list[str] | None,
    typer.Option(
        "--category", metavar="COLUMN", rich_help_panel=_WHAT, show_default=False,
        help="A column of labels that look like numbers (postcodes); may be given several times.",
    ),
]  # fmt: skip
Missing = Annotated[
    str,
    typer.Option(
        metavar="HOW", rich_help_panel=_WHAT,
        help="Missing inputs: indicator (median, and marked), median, mean, or error (refused).",
    ),
]  # fmt: skip
Likelihood = Annotated[
    str,
    typer.Option(
        metavar="NAME", rich_help_panel=_HOW,
        help="gaussian, student-t, bernoulli, categorical, poisson, negative-binomial …; "
        "auto follows the task.",
    ),
]  # fmt: skip
Loss = Annotated[
    str,
    typer.Option(
        metavar="NAME", rich_help_panel=_HOW,
        help="direct-log (calibrated distributions), direct-square (means), elbo, …",
    ),
]  # fmt: skip
Beta = Annotated[
    str,
    typer.Option(
        metavar="auto|NUMBER", rich_help_panel=_HOW,
        help="Weight of the penalty; auto chooses it on held-out rows (with several layers: 1).",
    ),
]  # fmt: skip
Kernel = Annotated[
    str,
    typer.Option(
        metavar="NAME", rich_help_panel=_HOW, help="matern52, matern32, matern12, rbf or linear."
    ),
]  # fmt: skip
Layers = Annotated[
    str,
    typer.Option(
        metavar="auto|NUMBER", rich_help_panel=_HOW,
        help="1 is a sparse GP, more a deep one; auto is 2 for numbers from 2000 rows on.",
    ),
]  # fmt: skip
Width = Annotated[
    int | None,
    typer.Option(
        metavar="W", rich_help_panel=_HOW, show_default=False,
        help="Outputs of an inner layer. Default: 8, or the number of inputs if that is less.",
    ),
]  # fmt: skip
Deep = Annotated[
    str,
    typer.Option(
        metavar="HOW", rich_help_panel=_HOW,
        help="How layers are joined: sigma-points (learned), or samples (a deep GP).",
    ),
]  # fmt: skip
Features = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", rich_help_panel=_HOW, show_default=False,
        help="mlp: a neural network in front of the model, trained with it.",
    ),
]  # fmt: skip
Robust = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", rich_help_panel=_HOW, show_default=False,
        help="beta or gamma: a log loss that is robust to outliers, for direct-log and elbo.",
    ),
]  # fmt: skip
RobustPower = Annotated[
    float | None,
    typer.Option(
        metavar="P", rich_help_panel=_HOW, show_default=False,
        help="How robust, above 1. Default: 1.1 for beta, 1.05 for gamma.",
    ),
]  # fmt: skip
NumInducing = Annotated[
    int | None,
    typer.Option(
        metavar="M", rich_help_panel=_HOW, show_default=False,
        help="Inducing points. Default: 3√n, between 20 and 500.",
    ),
]  # fmt: skip
Epochs = Annotated[
    int | None,
    typer.Option(
        metavar="E", rich_help_panel=_HOW, show_default=False,
        help="Passes over more than 1000 rows. Default: 60, or as many as make 1000 steps.",
    ),
]  # fmt: skip
MaxSteps = Annotated[
    int | None,
    typer.Option(
        metavar="S", rich_help_panel=_HOW, show_default=False,
        help="Steps, for at most 1000 rows. Default: 2000.",
    ),
]  # fmt: skip
TimeBudget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", rich_help_panel=_HOW, show_default=False,
        help="Train for about this long at most.",
    ),
]  # fmt: skip
Holdout = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", rich_help_panel=_HOW, show_default=False,
        help="Share of rows held out for the scores; 0 trains on all rows. Default: 0.1 (compare: "
        "0.2), and 0 for fewer than 50 rows.",
    ),
]  # fmt: skip
Seed = Annotated[
    int, typer.Option(metavar="N", rich_help_panel=_HOW, help="Same seed, same result.")
]
Cost = Annotated[
    Path | None,
    typer.Option(
        "--cost", metavar="TOML", show_default=False,
        help="A file that says what mistakes cost. Default: the cost the model was trained for.",
    ),
]  # fmt: skip
TrainCost = Annotated[
    Path | None,
    typer.Option(
        "--cost", metavar="TOML", rich_help_panel=_HOW, show_default=False,
        help="Train for decisions: a file that says what mistakes cost (see directgp decide).",
    ),
]  # fmt: skip
Inference = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", rich_help_panel=_HOW, show_default=False,
        help="Two classes, up to 2000 rows: laplace, ep, loss-ep, and with --cost loss-em, "
        "linearised-loss-em, ep-loss-em.",
    ),
]  # fmt: skip
TestInputs = Annotated[
    Path | None,
    typer.Option(
        metavar="TABLE", rich_help_panel=_HOW, show_default=False,
        help="The rows that decisions are for, for a loss-EM. Default: the training rows.",
    ),
]  # fmt: skip
TestWeight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", rich_help_panel=_HOW, show_default=False,
        help="How often each of these rows is met, for a loss-EM (covariate shift).",
    ),
]  # fmt: skip
Transductive = Annotated[
    bool,
    typer.Option(
        "--transductive",
        help="Run the loss-EM of MODEL for these rows: posterior and decisions fit each other.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="HTML", rich_help_panel=_OUT, show_default=False,
        help="Write a page with figures: one file, no network needed.",
    ),
]  # fmt: skip
Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=_OUT, help="One JSON object on stdout.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=_OUT, help="Print errors only.")
]


def given(arguments: Sequence[str]) -> set[str]:
    """The options that were given on the command line and not left at their defaults.

    >>> sorted(given(["fit", "t.csv", "--max-steps=5", "--holdout", "0.2", "-q"]))
    ['holdout', 'max_steps']
    """
    flags = [argument.partition("=")[0] for argument in arguments if argument.startswith("--")]
    return {flag[2:].replace("-", "_") for flag in flags}
