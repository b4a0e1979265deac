"""Write docs/reproduction.md and its figures from the store.

Every number on the page is a mean over stored runs or a count of them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from directgp.atomic_write import write_bytes, write_text
from experiments.figures import png
from experiments.papers import PAPERS
from experiments.story import Story, Table

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


def write_page(stories: Sequence[Story], folder: Path) -> Path:
    """Write the page and its images, and return the path of the page.

    Args:
        stories: the figures.
        folder: where to write.
    """
    pictures = folder / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    parts = [_INTRODUCTION, _overview(stories)]
    for paper in dict.fromkeys(story.spec.paper for story in stories):
        parts.append(f"## {PAPERS.get(paper, paper)}\n")
        parts += [_told(s, folder) for s in stories if s.spec.paper == paper]
    path = folder / NAME
    write_text(path, "\n".join(parts))
    return path


def _overview(stories: Sequence[Story]) -> str:
    lines = [
        [
            f"[{story.spec.name}](#{anchor(story.spec.name)})",
            story.spec.title,
            f"{_SIGNS[story.verdict.outcome]} {story.verdict.outcome}",
            f"{story.found.found}/{story.found.planned} {story.found.tier}",
        ]
        for story in stories
    ]
    return _markdown(["figure", "shows", "verdict", "runs"], lines) + "\n"


def anchor(name: str) -> str:
    """The anchor of a figure's heading.

    >>> anchor("dlm/fig1a")
    'dlm-fig1a'
    """
    return name.replace("/", "-")


def _told(story: Story, folder: Path) -> str:
    spec = story.spec
    parts = [
        f'### <a id="{anchor(spec.name)}"></a>{spec.title}\n',
        f"`{spec.name}`: {spec.figure}. {story.runs}\n",
        f"**The paper:** {spec.claim}\n" if spec.claim else "",
        f"**Different here:** {story.differs}\n" if story.differs else "",
        "\n".join(f"**Not the paper's data:** {mark}\n" for mark in story.marks),
    ]
    if story.claims:
        verdict = story.verdict
        parts.append(
            f"**Verdict: {_SIGNS[verdict.outcome]} {verdict.outcome}** ({verdict.reason}).\n"
        )
        lines = (
            f"- {_SIGNS[own.outcome]} {says} *{own.outcome}*: {own.reason}."
            for says, own in story.claims
        )
        parts.append("\n".join(lines) + "\n")
    for number, picture in enumerate(story.pictures):
        path = PICTURES / f"{anchor(spec.name)}{f'-{number + 1}' * (number > 0)}.png"
        write_bytes(folder / path, png(picture))
        parts.append(f"![{spec.title}]({path.as_posix()})\n")
    parts += [_table(table) for table in story.tables]
    parts.append(f"**To read from it:** {spec.note}\n" if spec.note and story.found.rows else "")
    return "\n".join(part for part in parts if part) + "\n"


def _table(table: Table) -> str:
    return f"{table.caption}\n\n{_markdown(table.columns, table.rows)}\n"


def _markdown(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    columns = list(columns)
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
