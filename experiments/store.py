"""SQLite store of finished runs; each is written once, atomically."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from directgp.persistence.errors import one_line
from experiments.errors import StoreError
from experiments.job import Job, Record, canonical
from experiments.stored_run import checked

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY,
    paper TEXT NOT NULL, figure TEXT NOT NULL, method TEXT NOT NULL, data TEXT NOT NULL,
    seed INTEGER,
    record TEXT NOT NULL, scores TEXT NOT NULL, curve TEXT NOT NULL, rows TEXT NOT NULL,
    seconds REAL NOT NULL, versions TEXT NOT NULL, git TEXT NOT NULL, finished TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS failures (
    key TEXT PRIMARY KEY, figure TEXT NOT NULL, record TEXT NOT NULL, message TEXT NOT NULL
) STRICT;
"""
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Errors of reading a damaged file; SQLite's messages quote texts that may not be UTF-8."""
_NOT_TABLES = """
SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'
"""
"""Objects that a store never has, for they execute statements of whoever wrote the file."""
_JSON = ("record", "scores", "curve", "rows", "versions")
_BATCH = 500


@dataclass(frozen=True)
class Run:
    """A finished job. `figure`, `method` and `data` are labels of the first spec that needed it."""

    record: Record
    scores: dict[str, Any]
    curve: dict[str, list] = field(default_factory=dict)
    """The training history: lists of equal length."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Labels and scores of each method or setting, if the run has several."""
    seconds: float = 0.0
    paper: str = ""
    figure: str = ""
    method: str = ""
    data: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    git: str = ""
    finished: str = ""

    @property
    def key(self) -> str:
        """See `Job.key`."""
        return Job(self.record).key

    @property
    def seed(self) -> int | None:
        """The seed, where the record has one."""
        return self.record.get("seed")


_FIELDS = [item.name for item in fields(Run)]
_COLUMNS = ["key", "seed", *_FIELDS]


class Store:
    """The runs in the file `path`, which is created if missing. Several processes may write it."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise StoreError(f"{self.path} cannot be a store; give a file in a folder that exists")
        try:
            self._db = sqlite3.connect(self.path, timeout=60.0)
            # A write-ahead log: a killed writer leaves the last whole state, readers never wait.
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA trusted_schema=OFF")
            foreign = self._db.execute(_NOT_TABLES).fetchone()[0]
            if foreign:
                self._db.close()
                raise StoreError(f"{self.path} is not a results store (it has more than tables)")
            self._db.executescript(_SCHEMA)
            known = {row[1] for row in self._db.execute("PRAGMA table_info(runs)")}
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.path} cannot be opened ({error}); check the disk and the permissions"
            ) from None
        except _DAMAGE as error:
            raise StoreError(f"{self.path} is not a results store ({one_line(error)})") from None
        if not known.issuperset(_COLUMNS):
            raise StoreError(f"{self.path} is a store of another version; export and import it")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction; if the disk refuses it, a StoreError, and earlier runs are kept."""
        try:
            with self._db:
                yield
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.path} cannot be written ({error}); make room on the disk or choose another "
                "--store, and repeat the command: stored runs are kept"
            ) from None

    def _read(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement selects; a StoreError if the file is damaged."""
        try:
            yield from self._db.execute(statement, values)
        except _DAMAGE as error:
            raise StoreError(
                f"{self.path} is damaged ({one_line(error)}); restore a copy"
            ) from None

    def __len__(self) -> int:
        return next(self._read("SELECT count(*) FROM runs"))[0]

    def __contains__(self, key: str) -> bool:
        return any(self._read("SELECT 1 FROM runs WHERE key = ?", (key,)))

    def keys(self) -> set[str]:
        """The keys of all finished runs."""
        return {key for (key,) in self._read("SELECT key FROM runs")}

    def add(self, run: Run) -> bool:
        """Store a run; returns False if its key is stored already (the first result is kept)."""
        with self._writing():
            return self._add(run)

    def add_all(self, runs: Iterable[Run]) -> int:
        """Store all of these runs or, after an error, none; returns how many were new."""
        with self._writing():
            return sum(self._add(run) for run in runs)

    def _add(self, run: Run) -> bool:
        values = asdict(run) | {"key": run.key, "seed": run.seed}
        values["record"] = canonical(run.record)
        for name in _JSON[1:]:
            values[name] = json.dumps(values[name], ensure_ascii=False)
        added = self._db.execute(
            f"INSERT INTO runs ({', '.join(_COLUMNS)}) "
            f"VALUES ({', '.join('?' * len(_COLUMNS))}) ON CONFLICT (key) DO NOTHING",
            [values[name] for name in _COLUMNS],
        )
        self._db.execute("DELETE FROM failures WHERE key = ?", (run.key,))
        return added.rowcount == 1

    def fail(self, job: Job, figure: str, message: str) -> None:
        """Store why a job failed; a later success removes it.

        Args:
            job: the job.
            figure: the name of the spec.
            message: the error.
        """
        with self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)",
                (job.key, figure, canonical(job.record), message),
            )

    def failures(self) -> dict[str, str]:
        """Messages of the jobs that failed, by key."""
        found = dict(self._read("SELECT key, message FROM failures"))
        if not all(isinstance(text, str) for pair in found.items() for text in pair):
            raise StoreError(f"{self.path} has failures that are not texts; restore a copy")
        return found

    def get(self, keys: Sequence[str]) -> dict[str, Run]:
        """The stored runs among these keys."""
        found = {}
        for first in range(0, len(keys), _BATCH):
            part = keys[first : first + _BATCH]
            marks = ", ".join("?" * len(part))
            found |= {run.key: run for run in self._select(f"WHERE key IN ({marks})", part)}
        return found

    def runs(self, **filters: str | int | None) -> Iterator[Run]:
        """Runs in a fixed order; filters (paper, figure, method, data, seed) must match exactly."""
        chosen = {name: value for name, value in filters.items() if value is not None}
        unknown = set(chosen) - {"paper", "figure", "method", "data", "seed"}
        if unknown:
            raise ValueError(f"runs cannot be filtered by {', '.join(sorted(unknown))}")
        where = "WHERE " + " AND ".join(f"{name} = ?" for name in chosen) if chosen else ""
        order = "ORDER BY paper, figure, data, method, seed, key"
        yield from self._select(f"{where} {order}", list(chosen.values()))

    def _select(self, clause: str, values: Sequence[Any]) -> Iterator[Run]:
        statement = f"SELECT {', '.join(_FIELDS)} FROM runs {clause}"
        for number, row in enumerate(self._read(statement, values), 1):
            found = dict(zip(_FIELDS, row, strict=True))
            yield Run(**checked(found, f"run {number} of {self.path}", nested=_JSON))
