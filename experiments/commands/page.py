"""``python -m experiments page``: write the pages from stored results, without running anything."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directgp.cli.console import Terminal
from experiments.commands import options as o
from experiments.spec import Spec, load_specs, select
from experiments.store import Store

if TYPE_CHECKING:  # it draws
    from experiments.figure_section import FigureSection


def page(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", show_default=False,
            help="The folder for reproduction.md, its figures and gallery.html.",
        ),
    ],
    names: o.Names = None,
    store: o.StoreFile = o.STORE,
    specs: o.SpecsFolder = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Write the page, its figures and the gallery from the store; nothing is run.

    **Example:** `python -m experiments page docs`
    """
    o.check_page_folder(folder)
    chosen = select(load_specs(specs), names or [])
    o.check_store_exists(store)
    with Store(store) as kept:
        written, sections = write_pages(chosen, kept, folder)
    verdicts = Counter(section.verdict.outcome for section in sections)
    counted = ", ".join(f"{number} {outcome}" for outcome, number in verdicts.items())
    Terminal(as_json=json, quiet=quiet).result(
        {"written": [str(path) for path in written], "verdicts": verdicts},
        f"{len(sections)} figures and tables: {counted}.",
        written_line(written),
    )


def write_pages(
    specs: Sequence[Spec], store: Store, folder: Path
) -> "tuple[list[Path], list[FigureSection]]":
    """Write the Markdown page and the gallery.

    Args:
        specs: the figures.
        store: the store of results.
        folder: where to write.

    Returns:
        The files except images, and the text of each figure.
    """
    from experiments.figure_section import figure_sections
    from experiments.gallery import write_gallery
    from experiments.page import write_page

    sections = figure_sections(specs, store)
    return [write_page(sections, folder), write_gallery(sections, folder)], sections


def written_line(paths: Sequence[Path]) -> str:
    """A line that names the written files."""
    return "Written: " + ", ".join(str(path) for path in paths)
