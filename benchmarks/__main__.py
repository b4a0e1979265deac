"""`make bench`: every table of docs/benchmarks.md from one command."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import (
    contest,
    cost,
    deep,
    deep_quality,
    epoch,
    first_report,
    outputs,
    practitioner,
    precision,
    quality,
    sampling_claims,
    scaling,
    speed,
    streaming,
    waiting,
)
from benchmarks.timing import markdown_table, write_json

SECTIONS = {
    "step": ("One training step (milliseconds; ratios are peer / ours)", speed.step_rows),
    "precision": ("How exact float32 steps are (n = 10,000, M = 100)", precision.precision_rows),
    "classes": ("A step of probit classification, M = 200", speed.classes_rows),
    "epoch": ("An epoch of classification on 273,853 flights, M = 200", epoch.epoch_rows),
    "deep": ("A step of deep models: 2 layers, width 3, M = 200, batch 1000", deep.deep_rows),
    "deep-predict": ("Prediction of deep models (rows a second)", deep.deep_predict_rows),
    "outputs": ("A step of seven outputs", outputs.outputs_rows),
    "sampling": ("Product sampling against bMC at equal samples", speed.sampling_rows),
    "hybrid": ("Exact draws: the paper's hybrid sampler", sampling_claims.hybrid_rows),
    "per-second": ("bMC against uPS per second", sampling_claims.per_second_rows),
    "predict": ("Prediction (rows a second)", speed.predict_rows),
    "counts": ("Scores of counts, against sums count by count", waiting.count_rows),
    "start": ("What commands take to start and to end (CPU seconds)", waiting.start_rows),
    "cost": ("Cost against n (D = 8, M = 100, batch 1000)", cost.cost_rows),
    "shapes": ("Memory after fits of different shapes in one process", cost.shapes_rows),
    "scaling": ("Time against every size, beside the limit", scaling.scaling_rows),
    "grid": ("Choosing β over the whole grid, against one fit", quality.grid_cost_rows),
    "first-report": ("From a clone to a report on cadata", first_report.first_report_rows),
    "streaming": ("Five million rows from Parquet", streaming.streaming_rows),
    "practitioner": ("A default GPRegressor beside trees", practitioner.practitioner_rows),
    "contest": ("All contestants on the same splits", contest.contest_rows),
    "deep-quality": ("Deep models at equal epochs", deep_quality.deep_quality_rows),
    "quality": ("Quality on real data (standardised units)", quality.quality_rows),
}
SPEED = ("step", "precision", "classes", "deep", "sampling", "predict", "cost")
"""What needs no data: minutes."""


def main() -> None:
    """Run the chosen sections, print their tables and keep them as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=("all", *SECTIONS), nargs="*", default=SPEED)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    arguments.json.mkdir(parents=True, exist_ok=True)
    for name in SECTIONS if "all" in arguments.only else arguments.only:
        title, make = SECTIONS[name]
        rows = make()
        print(f"\n## {title}\n\n{markdown_table(rows)}\n", flush=True)
        write_json(arguments.json / f"{name}.json", {name: rows})


if __name__ == "__main__":
    main()
