"""The reproduction page as one self-contained HTML file."""

import base64
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from directgp.atomic_write import write_text
from directgp.report import html
from experiments.figures import png
from experiments.papers import PAPERS
from experiments.story import Story

NAME = "gallery.html"
_TONES = {"reproduced": "good", "partly": "warn", "not": "bad", "not run": "soft"}


def write_gallery(stories: Sequence[Story], folder: Path) -> Path:
    """Write the page and return its path.

    Args:
        stories: the figures.
        folder: where to write.
    """
    path = folder / NAME
    write_text(path, gallery(stories))
    return path


def gallery(stories: Sequence[Story]) -> str:
    """The whole document."""
    counted = {
        outcome: sum(story.verdict.outcome == outcome for story in stories) for outcome in _TONES
    }
    header = "<h1>Reproduction of the papers</h1>" + html.tiles(
        (outcome, str(number), "figures and tables") for outcome, number in counted.items()
    )
    body = [_told(story) for story in stories]
    return html.page("Reproduction of the papers", header, "\n".join(body))


def _told(story: Story) -> str:
    spec, verdict = story.spec, story.verdict
    intro = f"{PAPERS.get(spec.paper, spec.paper).replace('`', '')}, {spec.figure}. {story.runs}"
    sentences = [(f"{verdict.outcome}:", verdict.reason)]
    sentences += [(says, f"{own.outcome}: {own.reason}.") for says, own in story.claims]
    facts = {"The paper": spec.claim, "Different here": story.differs, "To read": spec.note} | {
        f"Not the paper's data ({number})": mark for number, mark in enumerate(story.marks, 1)
    }
    return html.section(
        f"{spec.name}: {spec.title}",
        html.facts({name: value for name, value in facts.items() if value}),
        html.verdict(_TONES[verdict.outcome], *sentences),
        *(_picture(picture, spec.title) for picture in story.pictures),
        *(html.table(table.caption, table.columns, table.rows) for table in story.tables),
        intro=intro,
    )


def _picture(picture: Figure, title: str) -> str:
    data = base64.b64encode(png(picture)).decode()
    alt = html.text(f"{title}: the numbers are in the table below")
    return f'<figure class="card"><img alt="{alt}" src="data:image/png;base64,{data}"></figure>'
