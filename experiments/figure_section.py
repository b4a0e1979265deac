"""The content of a figure's section in order, for the page and the gallery."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from directgp.report.numbers import with_error
from experiments.estimate import readable_duration
from experiments.figure_rows import Evidence, evidence, summarised, values_of, where
from experiments.figures import draw, symbol
from experiments.judges import Verdict
from experiments.spec import Spec
from experiments.store import Store
from experiments.verdicts import judge


@dataclass(frozen=True)
class Table:
    """Means ± standard errors over seeds; columns are methods."""

    caption: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class FigureSection:
    """The section of one figure or table: its spec, verdicts, plots and tables."""

    spec: Spec
    found: Evidence
    verdict: Verdict
    claims: list[tuple[str, Verdict]]
    pictures: list[Figure]
    tables: list[Table]

    @property
    def runs(self) -> str:
        """How many of its runs are stored, with seeds, running time and commits."""
        found = self.found
        if not found.rows:
            return "Not run."
        seeds = len(values_of(found.rows, "seed"))
        own = getattr(self.spec, found.tier).get("job", {})
        with_own = f" ({', '.join(f'{name} {value}' for name, value in own.items())})" * bool(own)
        share = f"{found.found} of the {found.planned} runs of the {found.tier} setting{with_own}"
        failed = f"; {len(found.failures)} failed" * bool(found.failures)
        took = f"{readable_duration(found.seconds)} of running"
        short = ", ".join(dict.fromkeys(_short(git) for git in found.commits if git))
        by = f"; commit{'s' * (',' in short)} {short}" if short else ""
        return f"{share}, {seeds} seed{'s' * (seeds != 1)}{failed}; {took}{by}."

    @property
    def differs(self) -> str:
        """How our setting differs from the paper's; the spec's text is about the full setting."""
        own = self.spec.quick
        if self.found.tier != "quick" or not own.get("job") or not self.spec.differs:
            return self.spec.differs
        data = ", ".join(map(str, values_of(self.found.rows, "data")))
        return f"{self.spec.differs} So the full setting; shown is the quick one, on {data}."

    @property
    def marks(self) -> list[str]:
        """Remarks on datasets that are not the paper's own, of those with runs."""
        seen = values_of(self.found.rows, "data")
        return [f"{name}: {mark}" for name, mark in self.spec.marks.items() if name in seen]


def _short(git: str) -> str:
    """An abbreviated commit; `+` if there were uncommitted changes."""
    return git[:8] + "+" * git.endswith("+")


def figure_sections(specs: Iterable[Spec], store: Store) -> list[FigureSection]:
    """The sections of these figures, from stored results alone.

    Args:
        specs: the figures.
        store: the store of results.
    """
    return [_figure_section(spec, store) for spec in specs]


def _figure_section(spec: Spec, store: Store) -> FigureSection:
    found = evidence(spec, store)
    verdict, claims = judge(found)
    drawn = [draw(found, plot) for plot in spec.plots]
    tables = [tabulated(found, plot) for plot in spec.plots if plot.get("table", True)]
    return FigureSection(
        spec,
        found,
        verdict,
        claims,
        [picture for picture in drawn if picture is not None],
        [table for table in tables if table is not None],
    )


def tabulated(found: Evidence, plot: Mapping[str, Any]) -> Table | None:
    """The numbers of a plot: a line for each panel and x value, a column for each series.

    Args:
        found: the rows of the figure.
        plot: the settings of the plot in the spec.
    """
    score, series = plot.get("y"), plot.get("series", "method")
    if not isinstance(score, str):
        return None
    rows = where(found.rows, plot.get("where"))
    labels = {name for row in rows for name in row.labels}
    lines = [n for n in dict.fromkeys((plot.get("panel"), plot.get("x"))) if n in labels]
    names = values_of(rows, series)
    means = summarised(rows, [*lines, series], score)
    groups = list(dict.fromkeys(group[:-1] for group in means))
    body = [
        [*(str(value) for value in group), *(_cell(means.get((*group, name))) for name in names)]
        for group in _ordered(groups)
    ]
    heads = [symbol(str(name)) for name in lines]
    caption = f"{plot.get('ylabel', score)}: mean ± standard error over seeds"
    return Table(caption, [*heads, *(str(name) for name in names)], body) if body else None


def _ordered(groups: Sequence[tuple]) -> list[tuple]:
    """Sorted by the first label in the order of the spec, then by value."""
    first = list(dict.fromkeys(group[:1] for group in groups))
    return sorted(groups, key=lambda g: (first.index(g[:1]) if len(g) > 1 else 0, _sortable(g[1:])))


def _sortable(values: tuple) -> tuple:
    return tuple((0, v, "") if isinstance(v, int | float) else (1, 0, str(v)) for v in values)


def _cell(found: tuple[float, float, int] | None) -> str:
    return "not run" if found is None else with_error(found[0], found[1])
