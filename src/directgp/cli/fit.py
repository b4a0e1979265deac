"""``directgp fit``: train a model on a table and write it to a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from directgp.cli import model_options as m
from directgp.cli import options as o
from directgp.cli import processes as t
from directgp.cli.errors import UserError


def fit(
    data: o.Data,
    output: Annotated[
        Path, o.output_option("MODEL", "The model file.", show_default=True)
    ] = Path("model.dgp"),
    target: o.Targets = None,
    task: o.Task = "auto",
    drop: o.Drop = None,
    category: o.Category = None,
    missing: o.Missing = "indicator",
    loss: o.Loss = "direct-log",
    cost: o.TrainCost = None,
    inference: o.Inference = None,
    learn_from: m.LearnFrom = None,
    test_inputs: o.TestInputs = None,
    test_weight: o.TestWeight = None,
    likelihood: o.Likelihood = "auto",
    beta: o.Beta = "auto",
    kernel: o.Kernel = "matern52",
    layers: o.Layers = "auto",
    width: m.Width = None,
    deep: m.Deep = "sigma-points",
    num_sites: m.NumSites = None,
    quadrature: m.Quadrature = None,
    starts: m.Starts = None,
    predict_samples: m.PredictSamples = None,
    skip: m.Skip = False,
    own_kernels: m.OwnKernels = False,
    mean_inducing: m.MeanInducing = None,
    mean_field: m.MeanField = None,
    features: m.Features = None,
    feature_widths: m.FeatureWidths = None,
    divergence: m.Divergence = None,
    expectation: m.Expectation = None,
    hyperparameters: m.Hyperparameters = "joint",
    robust: o.Robust = None,
    robust_power: o.RobustPower = None,
    num_inducing: o.NumInducing = None,
    epochs: o.Epochs = None,
    max_steps: o.MaxSteps = None,
    batch_size: m.BatchSize = 1000,
    learning_rate: m.LearningRate = None,
    patience: m.Patience = None,
    precision: m.Precision = "auto",
    tolerance: m.Tolerance = None,
    window: m.Window = None,
    time_budget: o.TimeBudget = None,
    holdout: o.Holdout = None,
    seed: o.Seed = 0,
    resume: o.Resume = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--in-memory", rich_help_panel="How to train", show_default=False,
            help="Read Parquet larger than memory in pieces. Default: from 1 GiB on.",
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

    The target, the task and the weight β are chosen from the data unless given, and the choices are
    printed. From 50 rows on, a tenth is held out to score the model.

    By default the model is a stack: a mixture of calibrated models. An option of a single GP
    (--beta, --kernel, --layers, --num-inducing, --max-steps, --robust, …) trains one GP instead.

    After Ctrl-C, run the same command with --resume to continue.

    Several --target columns are modelled jointly, and may be missing in some rows. --layers,
    --width, --deep and --features make the model deep, --robust makes it robust to outliers.
    --inference computes the posterior without gradient training: exactly for regression, by
    Laplace, EP or loss-EM for two classes.

    **Example:** `directgp fit houses.csv --target price -o houses.dgp`
    """
    t.check_reading(stream, processes, coordinator)
    if processes is not None:
        raise typer.Exit(t.launch_fit(processes, coordinator, data))
    where = t.place(coordinator, num_processes, process_id, own_files, join_timeout)
    from directgp.cli.start import begin

    terminal = begin(json, quiet or not where.leads, data=data)
    from directgp.atomic_write import move
    from directgp.cli.checkpoints import checkpoint_folder, keeping, trained_once
    from directgp.cli.files import check_output, check_report, moved_in_after
    from directgp.cli.fit_result import judged, outcome_of
    from directgp.cli.read_rows import read_training_table
    from directgp.cli.streaming import check_streamable, is_streamed, train_stream
    from directgp.cli.training import announced, check_parts, options_of_command, train
    from directgp.decisions.cost_file import read_settings

    given = o.given(t.GIVEN.get())
    chosen = options_of_command(
        cost=None if cost is None else read_settings(cost),
        test_inputs=None if test_inputs is None else str(test_inputs),
    )
    if cost is not None and "loss" in given:
        raise UserError("--cost is trained for in place of a loss; leave out --loss, or --cost")
    inputs = tuple(path for path in (data, cost, test_inputs) if path is not None)
    check_output(output, not_these=inputs)
    check_report(report, not_these=inputs, output=output)
    streamed = is_streamed(data, True if where.coordinator else stream)
    if streamed:
        check_streamable(data, chosen, given, target or [], alone=not where.coordinator)
    folder = checkpoint_folder(output, resume, keeps=where.leads)
    if streamed:
        with keeping(folder, owned=where.leads):
            model = train_stream(
                data, chosen, terminal, target=(target or [None])[0], task=task, drop=drop or [],
                categories=category or [], epochs=epochs, checkpoint=folder, place=where,
            )  # fmt: skip
            if where.leads:
                model.save(output)
        outcome = outcome_of(model, output)
    else:
        training_table = read_training_table(
            data, terminal, target=target, task=task, likelihood=likelihood, drop=drop or [],
            categories=category or [], missing=missing, holdout=holdout, seed=seed,
        )  # fmt: skip
        parts = check_parts(training_table, chosen)

        def trained(stages: Path) -> Any:
            terminal.info(announced(training_table, chosen, parts.likelihood))
            return train(training_table, chosen, terminal, parts=parts, checkpoint=stages)

        with keeping(folder):
            kept = trained_once(folder, "model", training_table, chosen, trained)
            outcome = judged(kept.model, training_table, output, report)
            with moved_in_after(report, outcome.page):
                move(kept.path, output)
    if where.leads:
        terminal.result(outcome.facts, *outcome.words)
