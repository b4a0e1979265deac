"""The work of ``directgp compare``: train each contender, judge all on the same rows."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directgp.cli.console import Voice, table
from directgp.cli.contenders import Contender, contenders
from directgp.cli.errors import Interrupted, UserError
from directgp.cli.models import TableModel, remembered
from directgp.cli.rows import Learnable
from directgp.cli.training import Options
from directgp.report import Choice, Judged, Table, choose
from directgp.report.judged import scores_with_errors
from directgp.report.numbers import number, with_error
from directgp.report.sections import MEANING, shown_score

_HINT = "run the same command with --resume to go on; models that are finished are kept."


class Compared(NamedTuple):
    """All contenders on the same rows, and which to use."""

    judged: tuple[Judged, ...]
    models: dict[str, TableModel]
    table: Table
    choice: Choice

    def facts(self, output: Path | None, report: Path | None) -> dict[str, Any]:
        """For machines."""
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
        """For people."""
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
                    number(m.beta or 0.0, 3),
                    f"{m.seconds:.0f}",
                )
            )
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
    """The contenders that were asked for; an unknown name is an error that lists the known."""
    names = list(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))
    for name in names:
        contenders.lookup(name)
    if len(names) < 2:
        raise UserError(
            f"--models must name at least two of: {', '.join(contenders)}; got {text!r}"
        )
    return names


@contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Ctrl-C at any moment says what is kept, once a contender is finished."""
    try:
        yield
    except KeyboardInterrupt:
        if any(folder.glob("*.dgp")):
            raise Interrupted(f"What was trained is kept in {folder}; {_HINT}") from None
        raise


def compared(
    names: Sequence[str], learnable: Learnable, options: Options, voice: Voice, folder: Path
) -> Compared:
    """Train or, after an interrupt, reload each contender; finished ones wait in `folder`."""
    assert learnable.aside is not None
    models: dict[str, TableModel] = {}
    for name in names:
        contender: Contender = contenders.create(name)
        voice.say(f"{contender.title}: {contender.about}.")
        kept = folder / f"{name}.dgp"
        model = _kept(kept, learnable, contender.adapt(options))
        if model is None:
            fitted = contender.fit(learnable, options, voice, folder / name, _HINT)
            model = TableModel.of(fitted, learnable, contender.adapt(options))
            folder.mkdir(parents=True, exist_ok=True)
            model.save(kept)
        models[contender.title] = model
    judged = tuple(model.judged(learnable.aside, title) for title, model in models.items())
    choice = choose(judged)
    shown = models[choice.name].table(learnable.aside, f"{learnable.source.name}, rows kept aside")
    return Compared(judged, models, shown, choice)


def _kept(path: Path, learnable: Learnable, options: Options) -> TableModel | None:
    """A contender that an interrupted run finished, if it is from the same rows and options."""
    if not path.exists():
        return None
    model = TableModel.load(path)
    known, training = remembered(learnable)
    same_rows = np.array_equal(model.seen, known) and model.training == training
    own = {"likelihood": learnable.likelihood, "rows": len(learnable.train)}
    wanted = json.loads(json.dumps(options.facts() | own))
    if not same_rows or any(model.facts.get(name) != value for name, value in wanted.items()):
        raise UserError(
            f"{path.parent} is from other rows or options; give the same, or --fresh to start over"
        )
    return model
