"""The reproduction page as one self-contained HTML file."""

import base64
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from directgp.atomic_write import write_text
from directgp.report import html
from experiments.figure_section import FigureSection
from experiments.figures import png
from experiments.papers import PAPERS

NAME = "gallery.html"
_TONES = {"reproduced": "good", "partly": "warn", "not": "bad", "not run": "soft"}


def write_gallery(sections: Sequence[FigureSection], folder: Path) -> Path:
    """Write the page and return its path.

    Args:
        sections: the figures.
        folder: where to write.
    """
    path = folder / NAME
    write_text(path, gallery(sections))
    return path


def gallery(sections: Sequence[FigureSection]) -> str:
    """The whole document."""
    counted = {
        outcome: sum(section.verdict.outcome == outcome for section in sections)
        for outcome in _TONES
    }
    header = "<h1>Reproduction of the papers</h1>" + html.tiles(
        (outcome, str(number), "figures and tables") for outcome, number in counted.items()
    )
    body = [_section(section) for section in sections]
    return html.page("Reproduction of the papers", header, "\n".join(body))


def _section(section: FigureSection) -> str:
    spec, verdict = section.spec, section.verdict
    intro = f"{PAPERS.get(spec.paper, spec.paper).replace('`', '')}, {spec.figure}. {section.runs}"
    sentences = [(f"{verdict.outcome}:", verdict.reason)]
    sentences += [(says, f"{own.outcome}: {own.reason}.") for says, own in section.claims]
    facts = {"The paper": spec.claim, "Different here": section.differs, "To read": spec.note} | {
        f"Not the paper's data ({number})": mark for number, mark in enumerate(section.marks, 1)
    }
    return html.section(
        f"{spec.name}: {spec.title}",
        html.facts({name: value for name, value in facts.items() if value}),
        html.verdict(_TONES[verdict.outcome], *sentences),
        *(_picture(picture, spec.title) for picture in section.pictures),
        *(html.table(table.caption, table.columns, table.rows) for table in section.tables),
        intro=intro,
    )


def _picture(picture: Figure, title: str) -> str:
    data = base64.b64encode(png(picture)).decode()
    alt = html.text(f"{title}: the numbers are in the table below")
    return f'<figure class="card"><img alt="{alt}" src="data:image/png;base64,{data}"></figure>'
