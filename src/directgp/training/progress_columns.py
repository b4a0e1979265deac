"""Columns of the progress bar: percentage and remaining time, and numbers if there is space."""

from typing import Any


def bar_of_steps(console: Any, **options: Any) -> Any:
    """A Rich progress bar whose last column, ``task.fields["numbers"]``, is truncated if necessary.

    Args:
        console: the `rich.console.Console` to draw on.
        options: of `rich.progress.Progress`.
    """
    # Imported only where a bar is shown.
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeft
    from rich.table import Column

    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return Progress(
        TextColumn("{task.description}", table_column=Column(no_wrap=True, max_width=28)),
        BarColumn(bar_width=10),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeLeft(),
        TextColumn("{task.fields[numbers]}", table_column=rest),
        console=console,
        expand=True,
        **options,
    )
