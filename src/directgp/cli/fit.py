"""``directgp fit``: a table becomes a model file."""

from pathlib import Path
from typing import Annotated

import typer

from directgp.cli import options as o
from directgp.cli import together as t


def fit(
    data: o.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="MODEL", rich_help_panel="Output", help="The model file."
        ),
    ] = Path("model.dgp"),
    target: o.Targets = None,
    task: o.Task = "auto",
    drop: o.Drop = None,
    category: o.Category = None,
    missing: o.Missing = "error",
    loss: o.Loss = "direct-log",
    cost: o.TrainCost = None,
    likelihood: o.Likelihood = "auto",
    beta: o.Beta = "auto",
    kernel: o.Kernel = "matern52",
    layers: o.Layers = "auto",
    width: o.Width = None,
    deep: o.Deep = "sigma-points",
    features: o.Features = None,
    robust: o.Robust = None,
    robust_power: o.RobustPower = None,
    num_inducing: o.NumInducing = None,
    epochs: o.Epochs = None,
    max_steps: o.MaxSteps = 2000,
    time_budget: o.TimeBudget = None,
    holdout: o.Holdout = 0.1,
    seed: o.Seed = 0,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--fresh", rich_help_panel="How to train", show_default=False,
            help="Go on with a run that was interrupted, or throw it away.",
        ),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--in-memory", rich_help_panel="How to train", show_default=False,
            help="Parquet larger than memory is read in pieces. Default: from 1 GiB on.",
        ),
    ] = None,
    processes: t.Processes = None,
    coordinator: t.Coordinator = None,
    num_processes: t.NumProcesses = None,
    process_id: t.ProcessId = None,
    own_files: t.OwnFiles = False,
    join_timeout: t.JoinTimeout = 300.0,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Train a model on a table and write it to a file.

    The target, the task and the weight β are chosen from the data unless you say otherwise, and
    what was chosen is said. A tenth of the rows is kept aside to judge the model by.

    Ctrl-C keeps what was trained: run the same command with --resume to go on.

    Several --target columns are learned together, and may be missing in some rows. --layers,
    --width, --deep and --features make the model deep, --robust makes it bear outliers.

    **Example:** `directgp fit houses.csv --target price -o houses.dgp`
    """
    if processes is not None:
        raise typer.Exit(t.launch_fit(processes, coordinator, data))
    where = t.place(coordinator, num_processes, process_id, own_files, join_timeout)
    from directgp.cli.start import begin

    voice = begin(json, quiet or not where.leads)
    from directgp.cli.deciding import cost_of
    from directgp.cli.files import check_output, check_report, moved_in_after
    from directgp.cli.models import TableModel
    from directgp.cli.rows import read_learnable
    from directgp.cli.scores import scored_targets
    from directgp.cli.streaming import check_streamable, is_streamed, train_stream
    from directgp.cli.training import check_parts, checked_options, checkpoint_folder, train
    from directgp.decisions.toml import in_words, read_settings
    from directgp.report import report_of_targets

    chosen = checked_options(
        loss=loss, beta=beta, likelihood=likelihood, kernel=kernel, layers=layers, width=width,
        deep=deep, features=features, robust=robust, robust_power=robust_power,
        num_inducing=num_inducing, epochs=epochs, max_steps=max_steps,
        time_budget=time_budget,
        holdout=holdout, missing=missing, seed=seed,
        cost=None if cost is None else read_settings(cost),
    )  # fmt: skip
    inputs = (data,) if cost is None else (data, cost)
    check_output(output, not_these=inputs)
    check_report(report, not_these=inputs, output=output)
    streamed = is_streamed(data, True if where.coordinator else stream)
    if streamed:
        check_streamable(chosen, o.given(t.GIVEN.get()), target or [])
    folder = checkpoint_folder(output, resume, keeps=where.leads)
    if streamed:
        model = train_stream(
            data, chosen, voice, target=(target or [None])[0], task=task, drop=drop or [],
            categories=category or [], epochs=epochs, checkpoint=folder, place=where,
        )  # fmt: skip
        if where.leads:
            model.save(output)
            facts, last = _told(model, output)
            voice.result(facts, *last)
        return
    learnable = read_learnable(
        data, voice, target=target, task=task, likelihood=likelihood, drop=drop or [],
        categories=category or [], missing=missing, holdout=holdout, seed=seed,
    )  # fmt: skip
    check_parts(learnable, chosen)
    voice.say(
        f"Training on {len(learnable.train):,} rows, {learnable.train.X.shape[1]} inputs, with "
        f"{learnable.likelihood} likelihood and "
        + (f"loss {loss}." if chosen.cost is None else f"the cost {in_words(chosen.cost)}.")
    )
    fitted = train(
        learnable, chosen, voice, checkpoint=folder,
        resume_hint="run the same command with --resume to go on.",
    )  # fmt: skip
    model = TableModel.of(fitted, learnable, chosen)
    facts, last = _told(model, output)
    words, page = [], ""
    judged_rows = learnable.train if learnable.aside is None else learnable.aside
    warning = "" if learnable.aside is not None else _SEEN
    if learnable.aside is not None or report is not None:
        name = f"{data.name}, rows kept aside"
        judged = model.judged_targets(judged_rows, output.stem, name, warning)
        found, words = scored_targets(judged)
        if chosen.cost is not None:
            found["cost"], told = cost_of(judged[0][0], judged_rows, model, chosen.cost)
            words.append(told)
        facts |= {"held_out" if learnable.aside is not None else "training_rows": found}
        if report is not None:
            page = report_of_targets(judged)
            facts["report"] = report
            words.append(f"Report: {report}")
    with moved_in_after(report, page):
        model.save(output)
    voice.result(facts, *words, *last)


def _told(model, output: Path) -> tuple[dict, list[str]]:
    """What is said of every model: facts for machines, then the last lines for people."""
    fitted = model.fitted
    facts = {"model": output, "beta": fitted.beta, "seconds": fitted.seconds, **model.facts}
    facts |= {"target": model.name, "task": model.targets[0].task, "reason": fitted.reason}
    last = [f"Hint: {hint}." for hint in model.facts["hints"]]
    last.append(f"Model: {output} (β = {fitted.beta:.3g}, {fitted.seconds:.0f} s)")
    return facts, last


_SEEN = "no rows were kept aside, so these are the training rows and the scores flatter the model"
