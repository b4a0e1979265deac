"""The sections of docs/benchmarks.md: what measures them, what is said, what they must reach."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.targets import Target


@dataclass(frozen=True)
class Section:
    """One table of the page."""

    title: str
    make: str
    """module:function of `benchmarks` that gives the rows."""
    note: str
    targets: tuple[Target, ...] = ()


SECTIONS = {
    "step": Section(
        "One training step",
        "speed:step_rows",
        "Milliseconds per step, best of many alternating runs in one process; × is peer / ours. "
        "The float32 peer is set against the faster of float64 and mixed, and separately against "
        "*fast*, the float32 form that a long fit starts and goes on with where the data allow it "
        "(decision 0007; how exact each is stands below); the float64 peer against our float64. "
        "*ours / limit* is our float64 step over the time of two N·M² products alone. Rows with "
        "other cores busy above 0.15 deserve doubt. By machine code of our own (decision 0014).",
        tuple(
            Target(column, least=least, where=where)
            for column in ("× GPyTorch f32", "fast × GPyTorch f32", "× GPyTorch f64")
            for least, where in (
                (5.0, {"M": (20, 50, 100)}),
                (4.0, {"M": (300,)}),
                (3.0, {"M": (500,)}),
            )
        ),
    ),
    "precision": Section(
        "How exact steps in float32 are",
        "precision:precision_rows",
        "n = 10,000, D = 8, M = 100, after 1000 steps: the mean over the predictive deviation, the "
        "variance over the spread (root mean square over rows), and the gradient of each part "
        "(∂, the norm of the difference over the norm), each library against itself in float64 at "
        "the same parameters, jitter and least noise. GPyTorch solves against [M N] in float64 "
        "even in its float32.",
    ),
    "classes": Section(
        "A step of probit classification",
        "speed:classes_rows",
        "M = 200, batch 1000, D = 8: the faster of our two modes against GPyTorch's float32 ELBO "
        "step.",
        (Target("× GPyTorch, ELBO", least=5.0), Target("× GPyTorch, direct", least=5.0)),
    ),
    "epoch": Section(
        "An epoch of classification",
        "epoch:epoch_rows",
        "Late flights (airline_nyc2013), probit, M = 200, batches of 1000: ours against GPyTorch's "
        "ELBO fed by the `DataLoader` of its tutorial and, faster, by indexing one shuffled "
        "tensor; two epochs within a fit, compiled before.",
        (Target("× indexed, ELBO", least=5.0), Target("× indexed, direct", least=5.0)),
    ),
    "deep": Section(
        "A step of deep models",
        "deep:deep_rows",
        "Two layers, width 3, mean-field q(u) with M = 200, batch 1000, D = 26, Matérn 5/2; DSPP "
        "with 8 sites, deep GP with 5 samples. GPyTorch gives every inner output a kernel and "
        "inducing inputs of its own; by default ours share them, *own kernels* is like for like. "
        "Compiling is the first call of a chunk, without a cache.",
        (Target("× GPyTorch", least=8.0), Target("× GPyTorch, own kernels", least=6.0)),
    ),
    "deep-predict": Section(
        "Prediction of deep models",
        "deep:deep_predict_rows",
        "Moments of 20,000 rows, two layers, width 3, M = 200, D = 26: a deep GP with 50 samples a "
        "row, a DSPP with 8 sites.",
        (Target("float64 rows/s", least=20_000.0), Target("mixed rows/s", least=20_000.0)),
    ),
    "outputs": Section(
        "A step of several outputs",
        "outputs:outputs_rows",
        "Seven outputs of seven latent functions, 1000 rows, D = 21, mixed precision. *one output* "
        "is a single output of the same latent functions, so what one pass over them costs; "
        "*pairs* are rows of one output each, as they were before a batch was whole rows.",
        (Target("whole rows / one output", most=1.3),),
    ),
    "sampling": Section(
        "Product sampling against bMC",
        "speed:sampling_rows",
        "A whole training step with uPS against one with bMC at the same number of samples.",
    ),
    "hybrid": Section(
        "The paper's hybrid sampler",
        "sampling_claims:hybrid_rows",
        "A draw of q·p for each of 1000 rows, q as after some learning: row by row in Python, the "
        "hybrid of two rounds of all rows, then row by row (the paper: at least 50 % less time), "
        "the same proposals for all rows until all are served, and this library's envelopes. Each "
        "on one core, the best of alternating runs; another core was busy with other work.",
        (Target("hybrid saves", least=0.5),),
    ),
    "per-second": Section(
        "bMC against uPS per second",
        "sampling_claims:per_second_rows",
        "Gradients at the start of training (1000 rows, M = 50) relative to the true one: time, "
        "bias, noise, and the error of the average of all gradients that a second makes. On one "
        "core; others were busy, so times deserve doubt, bias and noise do not.",
    ),
    "predict": Section(
        "Prediction",
        "speed:predict_rows",
        "Mean and variance of 20,000 rows, D = 26.",
        (Target("mixed × GPyTorch f32", least=4.0), Target("f64 × GPyTorch f64", least=5.0)),
    ),
    "counts": Section(
        "Scores of counts",
        "waiting:count_rows",
        "CRPS of 50 rows against its sum taken count by count, and all scores that a report shows "
        "of 20,190 rows.",
        (
            Target("all scores of 20,190 rows, CPU seconds", most=10.0),
            Target("largest difference, relative", most=1e-8),
        ),
    ),
    "start": Section(
        "Starting and ending",
        "waiting:start_rows",
        "Scripts and commands, each a process of its own: seconds by the clock and of the "
        "processors. The commands see 1,599 rows of 11 columns. A fit comes twice, first with an "
        "empty cache of compiled programs; the default of few rows, a stack, has none.",
        tuple(
            Target(column, most=most, where={"command": commands})
            for column, most, commands in (
                (
                    "CPU seconds",
                    1.0,
                    (
                        "import directgp; directgp.GPRegressor",
                        "directgp inspect",
                        "directgp a model that is not there",
                    ),
                ),
                ("CPU seconds", 2.5, ("directgp predict",)),
                ("seconds", 3.0, ("300 rows, one sparse GP, M = 20, nothing compiled yet",)),
                ("seconds", 5.0, ("824 rows, GPRegressor()",)),
            )
        ),
    ),
    "cost": Section(
        "Cost against the number of rows",
        "cost:cost_rows",
        "Time an epoch and peak memory, D = 8, M = 100, batch 1000; what a fit, a prediction and "
        "a report add, beside the data. What does not depend on n weighs most with few rows.",
        (
            Target("fit adds / data", most=1.5, where={"n": (1_000_000,)}),
            Target("predict adds / data", most=1.5, where={"n": (1_000_000,)}),
            Target("report adds / data", most=1.5, where={"n": (1_000_000,)}),
        ),
    ),
    "shapes": Section(
        "Fits of different shapes",
        "cost:shapes_rows",
        "Memory of one process that fits and predicts tables of ever different shapes, each with "
        "programs of its own.",
    ),
    "scaling": Section(
        "Scaling",
        "scaling:scaling_rows",
        "![Time against rows, inducing points, columns, outputs, layers and processes, beside the "
        "limit](images/scaling.png)\n\nSeconds of a step or of an epoch while one size varies "
        "(else batch 1000 or full batches of 2000, M = 100, D = 8). *limit* is the larger of the "
        "time of the products at this machine's speed of products and of reading the rows once at "
        "its speed of memory, both measured in the same run.",
    ),
    "grid": Section(
        "Choosing β",
        "quality:grid_cost_rows",
        "The whole grid n, n/2, …, 0.01 against one fit with a given β, wall clock.",
        (Target("grid / fit", most=1.5),),
    ),
    "first-report": Section(
        "From a clone to a report",
        "first_report:first_report_rows",
        "A fresh clone, `make setup`, then `directgp fit` and `directgp evaluate --report` on "
        "cadata (20,640 rows), without a cache of compiled programs.",
    ),
    "streaming": Section(
        "More rows than memory",
        "streaming:streaming_rows",
        "5 million rows streamed from Parquet beside 200,000 of "
        "them in memory, for as many steps; *truth* is the score of the distribution the rows "
        "were drawn from.",
    ),
    "contest": Section(
        "All contestants on the same splits",
        "contest:contest_rows",
        "Seed 0, standardised units, M = 200, 60 epochs of batches of 1000; deep models have two "
        "layers, width 3, Matérn 5/2, mean-field q(u), DSPP 8 sites, deep GP 5 samples (ours at "
        "the rate 0.05 of one layer), the others RBF and one layer; β given (0.05 for "
        "DSPP, else 1); `GPRegressor()` chooses for itself. Every fit in a process of its own: "
        "*fit s* and *ms a step* count all from the arrays to the model, compilation included; "
        "*rows/s* is prediction; *MiB* is the memory the process took beyond imports and data. "
        "The last column is when the test NLL first was as low as GPyTorch's SVGP ends with.",
    ),
    "deep-quality": Section(
        "Deep models at equal epochs",
        "deep_quality:deep_quality_rows",
        "Seed 0, standardised units, two layers, M = 200, mean-field q(u), Matérn 5/2, 60 epochs "
        "of batches of 1000; width 3 with kernels and inducing inputs for each inner output, as "
        "GPyTorch has them, width 8 with shared ones. DSPP has 8 sites and β = 0.05, deep GP 5 "
        "samples and β = 1; GPyTorch's rate is 0.01, ours 0.02 (DSPP) and 0.05. Ours keep the step "
        "that is best on the validation rows, GPyTorch the last.",
    ),
    "quality": Section(
        "Quality on real data",
        "quality:quality_rows",
        "80/10/10 split by seed, standardised units, M = 200, batch 1000, all passes over the "
        "data within 60 epochs: GPyTorch spends them on one fit with β = 1, we on the whole race "
        "for β, which also keeps the step that is best on the validation rows. Ours has its "
        "default kernel (Matérn 5/2), GPyTorch RBF; the contest above has RBF for both. Seconds "
        "include initialisation, compilation and the choice of β.",
    ),
}
SPEED = ("step", "precision", "classes", "deep", "sampling", "predict", "cost")
"""What needs no data: minutes."""
