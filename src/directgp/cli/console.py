"""Console output: results on stdout, everything else on stderr."""

import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters of terminals, without tabs and line breaks."""


def visible(text: str) -> str:
    r"""Escape control characters, so that text from a table or a file cannot control a terminal.

    >>> print(visible("price\x1b[2J in €"))
    price\x1b[2J in €
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Terminal:
    """The console output of one command.

    `info` prints progress messages on stderr, unless quiet. `result` prints the result on stdout:
    text and tables, or with `as_json` one JSON object and nothing else.
    """

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json, self.quiet = as_json, quiet

    @property
    def progress(self) -> bool | None:
        """The argument `verbose` of `fit`: a progress bar in a terminal, never when quiet."""
        return False if self.quiet else None

    def info(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            typer.echo(_one_line(text), err=True)

    def warn(self, text: str) -> None:
        """Print a note, also when quiet."""
        typer.echo(f"note: {_one_line(text)}", err=True)

    @contextmanager
    def steps(self, doing: str, total: int) -> Iterator[Callable[..., object]]:
        """A progress bar with the percentage and the remaining time.

        Args:
            doing: the label of the bar.
            total: the number of steps or rows.

        Yields:
            A function to call after a step, or with the number of steps done since the last call.
            It does nothing if stderr is not a terminal.
        """
        if self.quiet or not is_terminal():
            yield lambda count=1: None
            return
        from rich.console import Console

        from directgp.training.progress_columns import bar_of_steps

        with bar_of_steps(Console(stderr=True)) as bar:
            task = bar.add_task(doing, total=total, numbers="")
            yield lambda count=1: bar.advance(task, count)

    def result(self, facts: Mapping[str, Any], *words: Any) -> None:
        """Print the result.

        Args:
            facts: the JSON object that `as_json` prints.
            *words: texts and rich tables to print otherwise.
        """
        if self.as_json:
            written = json.dumps(_plain(facts), ensure_ascii=False, allow_nan=False)
            typer.echo(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", written))
            return
        if self.quiet:
            return
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=True)
        if not console.is_terminal:
            console = Console(highlight=False, width=_width())
        for word in words:
            if isinstance(word, str):
                console.print(visible(word), markup=False, soft_wrap=console.is_terminal)
            else:
                console.print(word)

    def filter_warnings(self) -> None:
        """Show warnings of directgp as one-line notes, and none of other libraries."""

        def show(message, category, *_rest, **_more) -> None:
            if category.__module__.startswith("directgp"):
                self.warn(" ".join(str(message).split()))

        warnings.showwarning = show
        warnings.simplefilter("default")


def print_csv(columns: Mapping[str, Any]) -> None:
    """Print rows as CSV on stdout, also when quiet."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    from directgp.tables.formulas import without_formulas

    arrow_csv.write_csv(without_formulas(pa.table(dict(columns))), sys.stdout.buffer)
    sys.stdout.flush()


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    wordy: Sequence[int] = (),
) -> Any:
    """A rich table.

    Args:
        title: above the table.
        columns: headings; none are shown if all are empty.
        rows: the cells, as text.
        wordy: indices of columns of text, which are aligned left as the first one is.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    heads = any(columns)
    drawn = Table(
        title=_unmarked(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_header=heads,
    )
    for place, column in enumerate(columns):
        left = place == 0 or place in wordy
        drawn.add_column(_unmarked(column), justify="left" if left else "right", no_wrap=not left)
    for row in rows:
        drawn.add_row(*(_unmarked(cell) for cell in row))
    return drawn


def _unmarked(text: str) -> Any:
    from rich.text import Text

    return Text(_one_line(text))  # brackets in a user's names are no markup


def _one_line(text: str) -> str:
    return visible(" ".join(text.splitlines()))


def _plain(value: Any) -> Any:
    """Convert to JSON types: NumPy scalars to Python's, NaN and infinity to null, else to text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    # Cells of a table may be anything: dates and times in ISO 8601, others as text.
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _width() -> int:
    """The width of tables in a file or a pipe: COLUMNS if it is set, at most 100."""
    asked = os.environ.get("COLUMNS", "")
    return min(100, max(40, int(asked))) if asked.isdigit() else 100


def is_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr.isatty()
