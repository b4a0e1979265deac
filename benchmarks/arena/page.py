"""Writes docs/arena.md from the stored results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.arena.ablation_page import ablation
from benchmarks.arena.board import METRICS, PAIRED, Board, read_board
from benchmarks.arena.run import methods_of
from benchmarks.arena.store import read_runs
from benchmarks.arena.tables import KINDS, all_tables

_NAMED = 20
"""As many tables are named that one commit has judged."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "arena.md"
TITLES = {"regression": "Regression", "classification": "Classification", "counts": "Counts"}
NAMES = {
    "nll": "NLL",
    "crps": "CRPS",
    "rmse": "RMSE",
    "coverage": "Coverage of 90 % intervals",
    "brier": "Brier score",
    "error": "Error rate",
    "ece": "Calibration error",
    "seconds": "Seconds",
    "cpu_seconds": "CPU seconds",
}
INTRODUCTION = """# The arena: defaults beside their peers on real tables

Written by `python -m benchmarks.arena page` from `benchmarks/results`, which
`python -m benchmarks.arena run` fills (`pip install -e ".[arena]"`, numeric tables in
DIRECTGP_DATA; it goes on where it was stopped).

Every method gets the table as it comes: strings, dates and missing values included; 80 % of the
rows, permuted by the seed, to learn from, 20 % to be judged by. How it validates is its own affair:
boosting stops on the last eighth of its rows. CatBoost, LightGBM, XGBoost and
HistGradientBoosting get categories as categories; methods that know numbers alone get one-hot
columns, cross-fitted target means for more than 30 levels, and medians with an indicator for what
is missing. Scores are in units of the deviation of the training targets. Everybody has two
threads. Seconds run from the start of a process to its predictions, imports of the method's
library and compiling included; CPU seconds are those of all threads, and do not depend on who else
uses the machine.

- `catboost`: `RMSEWithUncertainty`, at most 1000 trees.
- `lightgbm`: 19 quantiles and a mean. Its density has a distribution function that is linear
  between quantiles, with exponential tails no lighter than a normal distribution's and gaps
  smoothed towards normal ones, as much as validation rows ask for. This form, in its favour, was
  chosen after looking at test scores of six small tables at seed 0 (Hitters, penguins, Auto,
  diabetes, boston, concrete), whose NLL it lowered by 0.06 to 0.38: there its NLL is flattered,
  while its CRPS changed by between −0.003 and +0.004.
  Where targets repeat (years, prices in dollars) narrow gaps around such values are rewarded.
- `ngboost`: normal; the better on validation rows of depth 3 at rate 0.05 and depth 6 at rate 0.1.
- `xgboost-dist`: the package `xgboost-distribution`, normal, depth 4 at rate 0.05.
- `sklearn-gp`: exact GP, RBF or Matérn 5/2 by marginal likelihood, one lengthscale per column up to
  60 columns; hyperparameters from at most 1000 rows, posterior of at most 3000.
- `hgb`, `ridge`: a mean, and one deviation from cross-validation. `marginal`: mean and deviation
  of the training targets.
- Counts: models of the mean with Poisson loss, with the dispersion of a negative binomial that has
  the best log score out of fold (`hgb-poisson`: none). Classes: `logistic` with its penalty
  by cross-validation.

Shown is what has been run so far: where a peer's cell is empty, it was not run on that table yet,
and nobody's score is printed bold where nobody else has one. All of it was run while the machine
had other work, which made wall times up to twice and CPU seconds up to a third longer; ratios
within a table are the better guide.

Clearly worse (better) means: than the peer that is best on that table, by more than two standard
errors of the paired differences over test rows (RMSE: of squared errors; test rows of all seeds
together).
"""


def write_page(
    folder: Path, ours: str = "directgp", output: Path = PAGE, *, without_ours: bool = False
) -> None:
    """Write the page from a folder of results; refuses a kind without runs of `ours`.

    Args:
        ours: the method, or label, that is compared with the others.
        output: the file.
        without_ours: allow a page without runs of `ours`.
    """
    parts = [INTRODUCTION.strip()]
    for kind in KINDS:
        sizes = {table.name: table.rows for table in all_tables() if table.kind == kind}
        names = [ours, *(name for name in methods_of(kind) if name != "directgp")]
        board = read_board(folder, kind, names, sizes, ours)
        if board is None:
            continue
        if ours not in board.methods and not without_ours:
            raise SystemExit(
                f"{folder} holds no run of {ours} ({kind}); run it, name another method with "
                "--ours, or write a page of the others alone with --without-ours"
            )
        parts += _section(board, sizes)
        parts += [said] if (said := _code(folder, kind, ours)) else []
    parts += ablation(folder, ours)
    output.write_text("\n\n".join(parts) + "\n")


def _section(board: Board, sizes: dict[str, int]) -> list[str]:
    parts = [f"## {TITLES[board.kind]}", _summary_table(board)]
    if board.ours in board.methods:
        parts += ["\n".join(_verdicts(board)), _losses(board)]
    else:
        parts.append(f"These results hold no run of {board.ours}.")
    failures = ", ".join(f"{name} on {table}" for table, name in sorted(board.failed))
    parts += [f"Failed: {failures}."] if failures else []
    for metric in (*METRICS[board.kind], "seconds", "cpu_seconds"):
        parts += [f"### {TITLES[board.kind]}: {NAMES[metric]}", _metric_table(board, metric, sizes)]
    return parts


def _code(folder: Path, kind: str, ours: str) -> str:
    """Which code made the results of `ours`, where it was not one commit."""
    tables: dict[str, set[str]] = {}
    for (of, table, _, name), line in read_runs(folder).items():
        if (of, name) == (kind, ours):
            tables.setdefault(str(line.get("commit")), set()).add(table)
    if len(tables) < 2:
        return ""
    some = "; ".join(f"{commit}: {_few(sorted(tables[commit]))}" for commit in sorted(tables))
    return f"Results of {ours} were made by several commits ({some})."


def _few(names: list[str]) -> str:
    """Names, or how many if there are many."""
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} tables"


def _summary_table(board: Board) -> str:
    """Average ranks, coverage and time of every method, over tables on which all were run."""
    metrics = [metric for metric in METRICS[board.kind] if metric in PAIRED[board.kind]]
    head = [f"rank {NAMES[metric]}" for metric in metrics]
    other = "coverage" if "coverage" in METRICS[board.kind] else "ece"
    head += ["coverage, mean", "least"] if other == "coverage" else ["calibration error, mean"]
    head += ["seconds, median", "CPU seconds, median"]
    ranks = {metric: board.ranks(metric) for metric in metrics}
    lines = []
    for name in board.methods:
        column = board.means[other].loc[board.complete, name].dropna()
        if column.empty:  # it has failed everywhere
            lines.append([name, *(f"{ranks[metric][name]:.2f}" for metric in metrics)])
            lines[-1] += [""] * (len(head) - len(metrics))
            continue
        cells = [f"{ranks[metric][name]:.2f}" for metric in metrics]
        if other == "coverage":
            cells += [f"{100 * column.mean():.1f} %", f"{100 * column.min():.0f} %"]
        else:
            cells += [f"{column.mean():.3f}"]
        for seconds in ("seconds", "cpu_seconds"):
            cells.append(f"{board.means[seconds].loc[column.index, name].median():.1f}")
        lines.append([name, *cells])
    seeds = sorted({seed for table in board.complete for seed in board.seeds[table]})
    note = f"Average ranks over {len(board.complete)} tables, seeds {_listed(seeds)}; 1 is best."
    return f"{note}\n\n{_markdown(['method', *head], lines)}"


def _verdicts(board: Board) -> list[str]:
    """Text: on how many tables `ours` is clearly better or worse than the best peer."""
    lines = []
    for metric in PAIRED[board.kind]:
        found = board.against_best(metric)
        if not found:
            continue  # no row losses
        worse = sorted(t for t, (_, gap, error) in found.items() if gap > 2 * error)
        better = sorted(t for t, (_, gap, error) in found.items() if gap < -2 * error)
        where = f": {', '.join(worse)}" if worse else ""
        lines.append(
            f"- {NAMES[metric]}: {board.ours} is clearly better than the best peer on "
            f"{len(better)} of {len(found)} tables, clearly worse on {len(worse)}{where}."
        )
    return lines


def _losses(board: Board) -> str:
    """Every table and metric on which we are clearly worse than the best peer."""
    rows = []
    for metric in PAIRED[board.kind]:
        for table, (peer, gap, error) in board.against_best(metric).items():
            if gap > 2 * error:
                mine, theirs = (board.means[metric].loc[table, n] for n in (board.ours, peer))
                many = gap / error if error > 0 else float("inf")
                cells = [table, NAMES[metric], f"{mine:.3f}", f"{theirs:.3f} ({peer})"]
                rows.append([*cells, f"{many:.1f}"])
    if not any(board.against_best(metric) for metric in PAIRED[board.kind]):
        return "No table has been judged row by row yet: the losses of the best peers are not here."
    if not rows:
        return "No table on which it is clearly worse than the best peer."
    head = ["table", "score", board.ours, "best peer", "standard errors"]
    return f"Where it loses:\n\n{_markdown(head, rows)}"


def _metric_table(board: Board, metric: str, sizes: dict[str, int]) -> str:
    frame = board.means[metric]
    digits = {"seconds": 1, "cpu_seconds": 1, "coverage": 2}.get(metric, 3)
    lines = []
    for table in frame.index:
        values = frame.loc[table, board.methods].to_numpy(dtype=float)
        cells = zip(board.methods, values, strict=True)
        shown = [_cell(board, str(table), name, value, digits) for name, value in cells]
        judged = metric not in ("coverage", "seconds", "cpu_seconds")
        if judged and np.sum(~np.isnan(values)) > 1:
            best = f"{np.nanmin(values):.{digits}f}"
            shown = [f"**{text}**" if text == best else text for text in shown]
        lines.append([str(table), str(sizes[str(table)]), *shown])
    return _markdown(["table", "rows", *board.methods], lines)


def _cell(board: Board, table: str, name: str, value: float, digits: int) -> str:
    if np.isnan(value):
        return "failed" if (table, name) in board.failed else ""
    return f"{value:.{digits}f}"


def _listed(seeds: list[int]) -> str:
    return ", ".join(str(seed) for seed in seeds) or "none"


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *lines])
