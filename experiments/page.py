"""Write docs/reproduction.md and its figures from the store.

Every number on the page is a mean over stored runs or a count of them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from directgp.atomic_write import write_bytes, write_text
from experiments.figure_section import FigureSection, Table
from experiments.figures import png
from experiments.papers import PAPERS

NAME = "reproduction.md"
PICTURES = Path("images") / "reproduction"
_SIGNS = {"reproduced": "✔", "partly": "◐", "not": "✘", "not run": "–"}

_INTRODUCTION = """\
# Reproduction

Every table and figure of the four papers, as this library gives it. The page is generated from
stored runs; [Reproducing the papers](reproducing.md) says how to run them again, and
[the gallery](gallery.html) is the same as one HTML file.

Error bars are standard errors over seeds (splits). Methods share their splits and are compared
seed by seed; a difference is called *clear* if zero lies outside its 95 % interval (Student's t;
where a claim says so, by Wilcoxon's test). Splits overlap, and many comparisons are made: a lone
clear difference among many is weak evidence. A claim is ✔ reproduced, ◐ partly (it holds in some
of the comparisons), ✘ not, or – not run.
"""


def write_page(sections: Sequence[FigureSection], folder: Path) -> Path:
    """Write the page and its images, and return the path of the page.

    Args:
        sections: the figures.
        folder: where to write.
    """
    pictures = folder / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    parts = [_INTRODUCTION, _overview(sections)]
    for paper in dict.fromkeys(section.spec.paper for section in sections):
        parts.append(f"## {PAPERS.get(paper, paper)}\n")
        parts += [_section(s, folder) for s in sections if s.spec.paper == paper]
    path = folder / NAME
    write_text(path, "\n".join(parts))
    return path


def _overview(sections: Sequence[FigureSection]) -> str:
    lines = [
        [
            f"[{section.spec.name}](#{anchor(section.spec.name)})",
            section.spec.title,
            f"{_SIGNS[section.verdict.outcome]} {section.verdict.outcome}",
            f"{section.found.found}/{section.found.planned} {section.found.tier}",
        ]
        for section in sections
    ]
    return _markdown(["figure", "shows", "verdict", "runs"], lines) + "\n"


def anchor(name: str) -> str:
    """The anchor of a figure's heading.

    >>> anchor("dlm/fig1a")
    'dlm-fig1a'
    """
    return name.replace("/", "-")


def _section(section: FigureSection, folder: Path) -> str:
    spec = section.spec
    parts = [
        f'### <a id="{anchor(spec.name)}"></a>{spec.title}\n',
        f"`{spec.name}`: {spec.figure}. {section.runs}\n",
        f"**The paper:** {spec.claim}\n" if spec.claim else "",
        f"**Different here:** {section.differs}\n" if section.differs else "",
        "\n".join(f"**Not the paper's data:** {mark}\n" for mark in section.marks),
    ]
    if section.claims:
        verdict = section.verdict
        parts.append(
            f"**Verdict: {_SIGNS[verdict.outcome]} {verdict.outcome}** ({verdict.reason}).\n"
        )
        lines = (
            f"- {_SIGNS[own.outcome]} {says} *{own.outcome}*: {own.reason}."
            for says, own in section.claims
        )
        parts.append("\n".join(lines) + "\n")
    for number, picture in enumerate(section.pictures):
        path = PICTURES / f"{anchor(spec.name)}{f'-{number + 1}' * (number > 0)}.png"
        write_bytes(folder / path, png(picture))
        parts.append(f"![{spec.title}]({path.as_posix()})\n")
    parts += [_table(table) for table in section.tables]
    parts.append(f"**To read from it:** {spec.note}\n" if spec.note and section.found.rows else "")
    return "\n".join(part for part in parts if part) + "\n"


def _table(table: Table) -> str:
    return f"{table.caption}\n\n{_markdown(table.columns, table.rows)}\n"


def _markdown(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    columns = list(columns)
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
