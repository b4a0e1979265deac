"""Outcomes in a file, one line of JSON each, and the run of missing combinations."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from directgp.atomic_write import write_text
from directgp.errors import DirectGPError
from experiments.combinations.exact import EXACT, exact_combinations, exact_outcome
from experiments.combinations.outcome import Outcome, outcome
from experiments.combinations.parts import Combination, combinations

_EVERY_SECONDS = 10.0


def all_combinations() -> list[Combination]:
    """All combinations, with those of exact inference."""
    return combinations() + exact_combinations()


def missing(found: Iterable[Outcome]) -> list[Combination]:
    """Combinations without an outcome."""
    known = {each.combination for each in found}
    return [each for each in all_combinations() if each not in known]


def fill(
    path: Path,
    say: Callable[[Outcome, int], None] = lambda _outcome, _left: None,
    seconds: float | None = None,
) -> list[Outcome]:
    """Run the combinations that are missing in a file; it is written every ten seconds.

    Args:
        path: the file.
        say: called with each new outcome and the number of remaining combinations.
        seconds: start no further combination after this time; None: run all.

    Returns:
        All outcomes in the file.
    """
    found = read(path)
    left = missing(found)
    began = written = time.monotonic()
    try:
        for number, combination in enumerate(left, start=1):
            if seconds is not None and time.monotonic() - began > seconds:
                break
            one = exact_outcome if combination.model == EXACT else outcome
            found.append(one(combination))
            say(found[-1], len(left) - number)
            if time.monotonic() - written > _EVERY_SECONDS:
                write(path, found)
                written = time.monotonic()
    finally:
        write(path, found)
    return found


def read(path: Path) -> list[Outcome]:
    """The outcomes of a file; none if it does not exist."""
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            stored = json.loads(line)
            found.append(Outcome(**stored | {"finite": tuple(stored["finite"])}))
        except (ValueError, TypeError, KeyError):
            raise DirectGPError(
                f"line {number} of {path} is not an outcome of a combination; give another --store"
            ) from None
    return found


def write(path: Path, found: Iterable[Outcome]) -> None:
    """The file, in the order of the combinations."""
    place = {combination: number for number, combination in enumerate(all_combinations())}
    ordered = sorted(found, key=lambda each: place.get(each.combination, len(place)))
    lines = [json.dumps(asdict(each), ensure_ascii=False) for each in ordered]
    write_text(path, "".join(f"{line}\n" for line in lines))
