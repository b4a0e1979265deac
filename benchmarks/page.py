"""docs/benchmarks.md, generated from the JSON that `python -m benchmarks` left behind."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.practitioner import tally
from benchmarks.timing import markdown_table

ROOT = Path(__file__).resolve().parents[1]

NOTES = {
    "step": (
        "One training step",
        "Milliseconds per step, best of many alternating runs in one process; × is peer / ours. "
        "The float32 peer is set against the faster of float64 and mixed, and separately against "
        "*fast*, the float32 form that a long fit starts and goes on with where the data allow it "
        "(decision 0007; how exact each is stands below); the float64 peer against our float64. "
        "*ours / limit* is our float64 step over the time of two N·M² products alone. Rows with "
        "other cores busy above 0.15 deserve doubt. By machine code of our own (decision 0014).",
    ),
    "precision": (
        "How exact steps in float32 are",
        "n = 10,000, D = 8, M = 100, after 1000 steps: the mean over the predictive deviation, the "
        "variance over the spread (root mean square over rows), and the gradient of each part "
        "(∂, the norm of the difference over the norm), each library against itself in float64 at "
        "the same parameters, jitter and least noise. GPyTorch solves against [M N] in float64 "
        "even in its float32.",
    ),
    "classes": (
        "A step of probit classification",
        "M = 200, batch 1000, D = 8: the faster of our two modes against GPyTorch's float32 ELBO "
        "step.",
    ),
    "epoch": (
        "An epoch of classification",
        "Late flights (airline_nyc2013), probit, M = 200, batches of 1000: ours against GPyTorch's "
        "ELBO fed by the `DataLoader` of its tutorial and, faster, by indexing one shuffled "
        "tensor; two epochs within a fit, compiled before.",
    ),
    "deep": (
        "A step of deep models",
        "Two layers, width 3, mean-field q(u) with M = 200, batch 1000, D = 26, Matérn 5/2; DSPP "
        "with 8 sites, deep GP with 5 samples. GPyTorch gives every inner output a kernel and "
        "inducing inputs of its own; by default ours share them, *own kernels* is like for like. "
        "Compiling is the first call of a chunk, without a cache.",
    ),
    "deep-predict": (
        "Prediction of deep models",
        "Moments of 20,000 rows, two layers, width 3, M = 200, D = 26: a deep GP with 50 samples a "
        "row, a DSPP with 8 sites.",
    ),
    "outputs": (
        "A step of several outputs",
        "Seven outputs of seven latent functions, 1000 rows, D = 21, mixed precision. *one output* "
        "is a single output of the same latent functions, so what one pass over them costs; "
        "*pairs* are rows of one output each, as they were before a batch was whole rows.",
    ),
    "sampling": (
        "Product sampling against bMC",
        "A whole training step with uPS against one with bMC at the same number of samples.",
    ),
    "hybrid": (
        "The paper's hybrid sampler",
        "A draw of q·p for each of 1000 rows, q as after some learning: row by row in Python, the "
        "hybrid of two rounds of all rows, then row by row (the paper: at least 50 % less time), "
        "the same proposals for all rows until all are served, and this library's envelopes.",
    ),
    "per-second": (
        "bMC against uPS per second",
        "Gradients at the start of training (1000 rows, M = 50) relative to the true one: time, "
        "bias, noise, and the error of the average of all gradients that a second makes.",
    ),
    "predict": ("Prediction", "Mean and variance of 20,000 rows, D = 26."),
    "counts": (
        "Scores of counts",
        "CRPS of 50 rows against its sum taken count by count, and all scores that a report shows "
        "of 20,190 rows.",
    ),
    "start": (
        "Starting and ending",
        "CPU seconds of scripts and commands, each a process of its own, beside `import jax`. The "
        "commands see 1,599 rows of 11 columns.",
    ),
    "cost": (
        "Cost against the number of rows",
        "Time an epoch and peak memory, D = 8, M = 100, batch 1000; what a fit, a prediction and "
        "a report add, beside the data.",
    ),
    "shapes": (
        "Fits of different shapes",
        "Memory of one process that fits and predicts tables of ever different shapes, each with "
        "programs of its own.",
    ),
    "scaling": (
        "Scaling",
        "![Time against rows, inducing points, columns, outputs, layers and processes, beside the "
        "limit](images/scaling.png)\n\nSeconds of a step or of an epoch while one size varies "
        "(else batch 1000 or full batches of 2000, M = 100, D = 8). *limit* is the larger of the "
        "time of the products at this machine's speed of products and of reading the rows once at "
        "its speed of memory, both measured in the same run.",
    ),
    "grid": (
        "Choosing β",
        "The whole grid n, n/2, …, 0.01 against one fit with a given β, wall clock.",
    ),
    "first-report": (
        "From a clone to a report",
        "A fresh clone, `make setup`, then `directgp fit` and `directgp evaluate --report` on "
        "cadata (20,640 rows), without a cache of compiled programs.",
    ),
    "streaming": (
        "More rows than memory",
        "5 million rows streamed from Parquet beside 200,000 of "
        "them in memory, for as many steps; *truth* is the score of the distribution the rows "
        "were drawn from.",
    ),
    "practitioner": (
        "A default GPRegressor beside trees",
        "`GPRegressor()` as it was until commit f445df4, before its default became a stack (one "
        "layer with β raced on held-out rows, from 2000 rows on two layers with β = 1, the best "
        "step on held-out rows; today `layers=1` or `layers=2` make them), "
        "NGBoost (at most 1000 trees of depth 6, its default rate 0.01 and 0.1, stopped on "
        "validation rows), LightGBM for 19 quantiles (CRPS by their pinball losses; NLL of the "
        "distribution that is linear between them, with exponential tails and a least gap chosen "
        "on validation rows, which can reward repeated targets), scikit-learn's exact GP on 1000 "
        "rows. Seed 0, standardised units; seconds are fit and prediction, compilation included.",
    ),
    "contest": (
        "All contestants on the same splits",
        "Seed 0, standardised units, M = 200, 60 epochs of batches of 1000; deep models have two "
        "layers, width 3, Matérn 5/2, mean-field q(u), DSPP 8 sites, deep GP 5 samples (ours at "
        "the rate 0.05 of one layer), the others RBF and one layer; β given (0.05 for "
        "DSPP, else 1); `GPRegressor()` chooses for itself. Every fit in a process of its own: "
        "*fit s* and *ms a step* count all from the arrays to the model, compilation included; "
        "*rows/s* is prediction; *MiB* is the memory the process took beyond imports and data. "
        "The last column is when the test NLL first was as low as GPyTorch's SVGP ends with.",
    ),
    "deep-quality": (
        "Deep models at equal epochs",
        "Seed 0, standardised units, two layers, M = 200, mean-field q(u), Matérn 5/2, 60 epochs "
        "of batches of 1000; width 3 with kernels and inducing inputs for each inner output, as "
        "GPyTorch has them, width 8 with shared ones. DSPP has 8 sites and β = 0.05, deep GP 5 "
        "samples and β = 1; GPyTorch's rate is 0.01, ours 0.02 (DSPP) and 0.05. Ours keep the step "
        "that is best on the validation rows, GPyTorch the last. No times: the machine was not "
        "quiet.",
    ),
    "quality": (
        "Quality on real data",
        "80/10/10 split by seed, standardised units, M = 200, batch 1000, all passes over the "
        "data within 60 epochs: GPyTorch spends them on one fit with β = 1, we on the whole race "
        "for β, which also keeps the step that is best on the validation rows. Ours has its "
        "default kernel (Matérn 5/2), GPyTorch RBF; the contest above has RBF for both. Seconds "
        "include initialisation, compilation and the choice of β.",
    ),
}

_AIM, _AIM_FOR = 5.0, 100


def _step_shortfalls(rows: list[dict]) -> str:
    """Which steps miss our aim against GPyTorch, and by how much."""
    compared = {
        "fast × GPyTorch f32": "fast against its float32",
        "× GPyTorch f32": "mixed against its float32",
        "× GPyTorch f64": "float64 against float64",
    }
    missed = [
        f"- N = {row['N']}, M = {row['M']}, {row['loss']}, {how}: {row[column]:.2f}×"
        for row in rows
        for column, how in compared.items()
        if row["M"] <= _AIM_FOR and row[column] < _AIM
    ]
    least = min(row[f"× {peer}"] for row in rows for peer in ("GPyTorch f32", "GPyTorch f64"))
    ahead = (
        f"Least lead over GPyTorch {least:.2f}×, over GPJax {min(r['× GPJax'] for r in rows):.2f}×."
    )
    aim = f"Our aim at M ≤ {_AIM_FOR} is {_AIM:.0f}× GPyTorch"
    if not missed:
        return f"{ahead} {aim}, reached in every cell."
    return "\n".join([f"{ahead} {aim}; missed:", "", *missed])


def _split(row: dict) -> tuple[str, int]:
    return row["data"], row["seed"]


def _quality_tally(rows: list[dict]) -> str:
    """Ours beside each peer: on how many tables the NLL is lower, and in what share of the time."""
    ours = {_split(row): row for row in rows if row["method"].startswith("directgp")}
    lines = []
    for peer in dict.fromkeys(
        row["method"] for row in rows if row["method"].startswith("GPyTorch")
    ):
        theirs = {_split(row): row for row in rows if row["method"] == peer}
        lower = sum(ours[own]["nll"] < row["nll"] for own, row in theirs.items())
        shares = ", ".join(
            f"{own[0]} {ours[own]['seconds'] / row['seconds']:.2f}" for own, row in theirs.items()
        )
        lines.append(
            f"- Lower NLL than {peer} on {lower} of {len(theirs)}; share of its time: {shares}."
        )
    return "\n".join(lines)


SUMMARIES = {"practitioner": tally, "step": _step_shortfalls, "quality": _quality_tally}
"""What a section says below its table."""


def _measured(machine: dict, rows: list[dict]) -> str:
    """When, and by which commits of this library: rows that were kept have their own."""
    commits = {row["commit"] for row in rows if "commit" in row} or {machine.get("commit", "")}
    by = ", ".join(sorted(commit[:8] for commit in commits if commit))
    return f"Measured on {machine['time'][:10]}" + (f" at {by}." if by else ".")


def main() -> None:
    """Write the page from whatever sections have results."""
    parts = [
        "# Benchmarks",
        "Generated by `python -m benchmarks.page` from `benchmarks/results`, which `make bench` "
        "writes. Every speed is a ratio measured side by side in one run on two shared CPU cores.",
    ]
    for name, (title, note) in NOTES.items():
        path = ROOT / "benchmarks" / "results" / f"{name}.json"
        if path.exists():
            found = json.loads(path.read_text())
            rows = found["tables"][name]
            shown = [{k: v for k, v in row.items() if k != "commit"} for row in rows]
            parts += [f"## {title}", f"{note} {_measured(found['machine'], rows)}"]
            parts += [markdown_table(shown)]
            parts += [SUMMARIES[name](rows)] if name in SUMMARIES else []
    (ROOT / "docs" / "benchmarks.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
