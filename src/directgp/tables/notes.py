"""Notes on the encoding of columns, for one table or merged over the pieces of a large one."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Note(NamedTuple):
    """One line on the encoding of a column."""

    column: str
    text: str
    rows: int = 0
    """The number of rows it concerns, if not all."""

    def __str__(self) -> str:
        return f"{self.column}: {self.text}"


class RunningNotes:
    """Notes of many pieces, merged: the text of the first, the row counts added.

    >>> notes = RunningNotes()
    >>> notes.add([Note("kind", "levels unseen in training: 'x' (2 rows)", 2)])
    >>> notes.add([Note("kind", "levels unseen in training: 'y' (1 rows)", 1)])
    >>> print(*notes.in_all())
    kind: levels unseen in training: 'x' (2 rows); 3 rows in all
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Note] = {}

    def add(self, notes: Iterable[Note]) -> None:
        """Count the notes of another piece."""
        for note in notes:
            about = note.column, re.sub(r"\d+", "", note.text.partition(":")[0])
            before = self._found.get(about, note._replace(rows=0))
            self._found[about] = before._replace(rows=before.rows + note.rows)

    def __iter__(self) -> Iterator[Note]:
        return iter(self._found.values())

    def in_all(self) -> tuple[Note, ...]:
        """The merged notes, with the total number of rows where a note concerns only some."""
        return tuple(
            note._replace(text=f"{note.text}; {note.rows} rows in all") if note.rows else note
            for note in self
        )
