"""Export and import of stored runs: CSV (export only), Parquet and JSON lines."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from directgp.atomic_write import write_text
from directgp.persistence.errors import one_line
from directgp.registry import Registry
from experiments.errors import StoreError
from experiments.store import Run
from experiments.stored_run import checked

writers = Registry("file ending of an export")
readers = Registry("file ending of an import")
_NESTED = ("record", "scores", "curve", "rows", "versions")
_NAMES = {item.name for item in fields(Run)}


def export(path: Path, runs: Iterable[Run]) -> int:
    """Write runs to a file.

    Args:
        path: the file; its ending (.csv, .jsonl, .parquet) defines the format.
        runs: the runs.

    Returns:
        The number of runs.
    """
    found = list(runs)
    if not found:
        raise StoreError(
            "there is no run to export; use fewer filters, or python -m experiments run first"
        )
    writers.lookup(path.suffix.lower())(path, found)
    return len(found)


def load(path: Path) -> Iterator[Run]:
    """The runs of a file written by `export` (.jsonl or .parquet)."""
    if not path.is_file():
        raise StoreError(f"there is no file {path} to import")
    yield from readers.lookup(path.suffix.lower())(path)


@writers.register(".jsonl")
def _write_lines(path: Path, runs: list[Run]) -> None:
    lines = (json.dumps(asdict(run), ensure_ascii=False, separators=(",", ":")) for run in runs)
    write_text(path, "\n".join(lines) + "\n")


@readers.register(".jsonl")
def _read_lines(path: Path) -> Iterator[Run]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read ({one_line(error)})") from None
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        yield _checked(found, f"line {number} of {path}")


@writers.register(".parquet")
def _write_parquet(path: Path, runs: list[Run]) -> None:
    from directgp.tables import write_table

    write_table(path, _columns(runs))


@readers.register(".parquet")
def _read_parquet(path: Path) -> Iterator[Run]:
    from directgp.tables import read_table

    for number, row in enumerate(read_table(path).to_pylist(), 1):
        known = {name: row[name] for name in _NAMES & set(row)}
        yield _checked(known, f"row {number} of {path}", nested=_NESTED)


@writers.register(".csv")
def _write_csv(path: Path, runs: list[Run]) -> None:
    """Write a column for each score; curves are left out."""
    from directgp.tables import write_table

    names = sorted({name for run in runs for name, value in run.scores.items() if _flat(value)})
    columns: dict[str, list] = {
        "key": [run.key for run in runs],
        **{name: [getattr(run, name) for run in runs] for name in ("paper", "figure")},
        "data": [run.data for run in runs],
        "method": [run.method for run in runs],
        "seed": [run.seed for run in runs],
        **{name: [run.scores.get(name) for run in runs] for name in names},
        "seconds": [run.seconds for run in runs],
        "commit": [run.git for run in runs],
        "record": [json.dumps(run.record, ensure_ascii=False) for run in runs],
    }
    write_table(path, columns)


def _columns(runs: list[Run]) -> dict[str, list]:
    columns: dict[str, list] = {"key": [run.key for run in runs]}
    for name in [item.name for item in fields(Run)]:
        values = [getattr(run, name) for run in runs]
        columns[name] = (
            [json.dumps(value, ensure_ascii=False) for value in values]
            if name in _NESTED
            else values
        )
    return columns


def _flat(value: Any) -> bool:
    return isinstance(value, int | float | str | bool)


def _checked(found: Any, where: str, nested: Sequence[str] = ()) -> Run:
    if not isinstance(found, dict) or not {"record", "scores"} <= set(found) <= _NAMES:
        raise StoreError(
            f"{where} is not a run; import a file of python -m experiments results --export"
        )
    return Run(**checked(found, where, nested))
