"""Implementation of ``directgp compare``: train each model, evaluate all on the same rows."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from directgp.cli.checkpoints import Kept, kept_model, trained_once
from directgp.cli.console import Terminal, table
from directgp.cli.contenders import Contender, contenders
from directgp.cli.errors import UserError
from directgp.cli.read_rows import TrainingTable
from directgp.cli.training import Options, Parts
from directgp.report import Choice, Judged, Table, choose
from directgp.report.comparison import baseline_row
from directgp.report.judged import scores_with_errors
from directgp.report.numbers import number, with_error
from directgp.report.sections import MEANING, shown_score


class Compared(NamedTuple):
    """The evaluated models, and which of them to use."""

    judged: tuple[Judged, ...]
    models: dict[str, Kept]
    table: Table
    choice: Choice

    def facts(self, output: Path | None, report: Path | None) -> dict[str, Any]:
        """What --json prints."""
        scores = {
            m.name: {
                k: {"mean": mean, "error": error}
                for k, (mean, error) in scores_with_errors(m.predictive, m.y).items()
            }
            | {"beta": m.beta, "seconds": m.seconds}
            for m in self.judged
        }
        return {
            "use": self.choice.name,
            "verdict": self.choice.title,
            "reasons": list(self.choice.reasons),
            "rows": len(self.judged[0].y),
            "models": scores,
            "nll_above_recommended": {
                p.name: {"mean": p.mean, "error": p.error, "clear": p.clear}
                for p in self.choice.against
            },
            "hints": list(self.table.hints),
            "model": output,
            "report": report,
        }

    def words(self, output: Path | None, report: Path | None) -> list[Any]:
        """What the terminal shows."""
        gaps = {p.name: p for p in self.choice.against}
        found = [scores_with_errors(m.predictive, m.y) for m in self.judged]
        shown = [name for name in MEANING if name in found[0] and name != "interval_width"]
        lines = []
        for m, scores in zip(self.judged, found, strict=True):
            gap = gaps.get(m.name)
            lines.append(
                (
                    m.name,
                    *(shown_score(name, *scores[name]) for name in shown),
                    "recommended" if gap is None else f"+{with_error(gap.mean, gap.error)}",
                    "–" if m.beta is None else number(m.beta, 3),
                    f"{m.seconds:.0f}",
                )
            )
        best = next(m for m in self.judged if m.name == self.choice.name)
        for each in best.baselines.items():
            name, cells, gap = baseline_row(each, best, shown)
            lines.append((name, *cells, gap, "–", ""))
        titles = [MEANING[name][0] for name in shown]
        words: list[Any] = [
            table(
                f"{len(self.judged[0].y):,} held-out rows (± one standard error)",
                ("model", *titles, "NLL gap", "β", "s"),
                lines,
            ),
            f"{self.choice.title}.",
            *(f"  - {reason}" for reason in self.choice.reasons),
        ]
        words += [f"Hint: {hint}." for hint in self.table.hints]
        words += [f"Model: {output}"] if output is not None else []
        return words + ([f"Report: {report}"] if report is not None else [])


def names_of(text: str) -> list[str]:
    """The names in a comma-separated list; an unknown name is an error that lists the known."""
    names = list(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))
    for name in names:
        contenders.lookup(name)
    if len(names) < 2:
        raise UserError(
            f"--models must name at least two of: {', '.join(contenders)}; got {text!r}"
        )
    return names


def compared(
    names: Sequence[str],
    training_table: TrainingTable,
    options: Options,
    parts: Parts,
    terminal: Terminal,
    folder: Path,
) -> Compared:
    """Train each model, or load it if an interrupted run has finished it, and evaluate all.

    Args:
        names: names of the models, in the order in which they are shown.
        training_table: the training rows and the held-out rows.
        options: the user's options, which each model adapts.
        parts: from `check_parts`.
        terminal: for messages on what is being trained.
        folder: the checkpoints of this command, which hold the finished models.
    """
    assert training_table.aside is not None
    for path in folder.glob("*.dgp"):  # all of them: another table may have the same name
        kept_model(path, training_table, contenders.create(path.stem).adapt(options))
    models: dict[str, Kept] = {}
    for place, name in enumerate(names, start=1):
        contender: Contender = contenders.create(name)
        terminal.info(f"{place} of {len(names)}. {contender.title}: {contender.about}.")
        models[contender.title] = trained_once(
            folder,
            name,
            training_table,
            contender.adapt(options),
            partial(contender.fit, training_table, options, terminal, parts),
        )
    judged = []
    with terminal.steps("evaluating", len(models)) as advance:
        for title, kept in models.items():
            judged.append(kept.model.judged(training_table.aside, title))
            advance()
    plain = {name: each for m in judged for name, each in m.baselines.items()}
    judged = tuple(replace(m, baselines=plain) for m in judged)
    choice = choose(judged)
    chosen = models[choice.name].model
    shown = chosen.table(training_table.aside, f"{training_table.source.name}, held-out rows")
    return Compared(judged, models, shown, choice)
