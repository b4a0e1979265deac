"""``directgp compare``: compare models on a table and recommend one."""

from pathlib import Path
from typing import Annotated

import typer

from directgp.cli import options as o


def compare(
    data: o.Data,
    output: Annotated[
        Path | None, o.output_option("MODEL", "Write the recommended model to this file.")
    ] = None,
    models: Annotated[
        str,
        typer.Option(metavar="NAMES", help="The models to compare, separated by commas."),
    ] = "stack,elbo,beta-elbo,direct,deep",
    target: o.Target = None,
    task: o.Task = "auto",
    drop: o.Drop = None,
    category: o.Category = None,
    missing: o.Missing = "indicator",
    likelihood: o.Likelihood = "auto",
    kernel: o.Kernel = "matern52",
    num_inducing: o.NumInducing = None,
    epochs: o.Epochs = None,
    max_steps: o.MaxSteps = None,
    time_budget: o.TimeBudget = None,
    holdout: o.Holdout = None,
    seed: o.Seed = 0,
    resume: o.Resume = None,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Train several models on a table and recommend one, with reasons.

    All models are trained on the same rows and evaluated on the same held-out rows. Differences are
    paired, row by row, and called clear beyond two standard errors.

    **Example:** `directgp compare houses.csv --target price --report compare.html`
    """
    from directgp.cli.start import begin

    terminal = begin(json, quiet, data=data)
    from directgp.atomic_write import move
    from directgp.cli.checkpoints import checkpoint_folder, keeping
    from directgp.cli.compare_models import compared, names_of
    from directgp.cli.errors import UserError
    from directgp.cli.files import check_output, check_report, moved_in_after
    from directgp.cli.read_rows import read_training_table
    from directgp.cli.training import check_parts, options_of_command
    from directgp.report import comparison_report

    chosen = options_of_command(layers="1")
    names = names_of(models)
    if output is not None:
        check_output(output, not_these=(data,))
    check_report(report, not_these=(data,), output=output)
    folder = checkpoint_folder(Path(f"{data.stem}.compare"), resume)
    training_table = read_training_table(
        data, terminal, target=target, task=task, likelihood=likelihood, drop=drop or [],
        categories=category or [], missing=missing, holdout=holdout, seed=seed,
        usual_holdout=0.2,
    )  # fmt: skip
    if training_table.aside is None:
        raise UserError(
            f"models are compared on held-out rows, and none of {len(training_table.train)} is; "
            "give --holdout 0.2"
        )
    parts = check_parts(training_table, chosen)
    with keeping(folder):
        done = compared(names, training_table, chosen, parts, terminal, folder)
        facts, words = done.facts(output, report), done.words(output, report)
        page = "" if report is None else comparison_report(done.judged, done.table)
        with moved_in_after(report, page):
            if output is not None:
                move(done.models[done.choice.name].path, output)
    terminal.result(facts, *words)
