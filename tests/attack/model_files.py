"""The attack on model files: thousands of altered ones are read as users read them."""

import os
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from tests.attack.mutations import LEVEL_ONE, LEVEL_TWO, Mutation
from tests.attack.result import Result, Tell, peak_memory, silent
from tests.attack.untrained import Found, Target
from tests.attack.watch import watching

REFUSED, LATE, SAME, OTHER = "refused", "refused later", "same", "another model"
ALLOWED = (REFUSED, LATE, SAME)
BAIT = "RAN = []\nclass Bait:\n    pass\ndef run(*given):\n    RAN.append(given)\n    return 0\n"
_of_sound_files: set[str] = set()
"""What reading them causes: they, and a table to predict, are opened."""
_LIBRARIES = (*map(os.path.dirname, (np.__file__, os.__file__)), sys.prefix)
_SLOWEST = 30.0
_MOST_MEMORY = 1 << 30


def attack(
    found: list[Target],
    count: int,
    seed: int = 0,
    tell: Tell = silent,
) -> Result:
    """Alter sound files in `count` ways, of all kinds in turn, and read them."""
    kinds: list[tuple[str, Mutation, bool]] = [
        *((name, mutation, False) for name, mutation in LEVEL_ONE.items()),
        *((name, mutation, True) for name, mutation in LEVEL_TWO.items()),
    ]
    result = Result({name: Counter() for name, *_ in kinds})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        sys.path.insert(0, folder)  # so that an import would find what a file names
        (Path(folder) / "attack_bait.py").write_text(BAIT)
        try:
            sound = [read_twice(target, path) for target in found]
            before = peak_memory()
            for number in range(count):
                name, mutation, forged = kinds[number % len(kinds)]
                which = (number // len(kinds)) % len(found)
                rng = np.random.default_rng([seed, number])
                path.write_bytes(mutation(rng, found[which].data))
                with result.timed() as took:
                    outcome = outcome_of(found[which], path, sound[which], forged)
                result.counts[name][outcome if outcome in (*ALLOWED, OTHER) else "BAD"] += 1
                if outcome not in (*ALLOWED, OTHER) or took.processor > _SLOWEST:
                    where = f"{found[which].name}, {name}, number {number}"
                    result.bad.append(f"{where}: {outcome} ({took.processor:.1f} s)")
                    tell(result.bad[-1])
                if number % 500 == 499:
                    tell(f"{number + 1} files, {len(result.bad)} bad")
            after = peak_memory()
        finally:
            sys.path.remove(folder)
    result.memory = after - before
    if result.memory > _MOST_MEMORY:
        result.bad.append(f"the process has grown by {result.memory >> 20} MiB")
    return result


def read_twice(target: Target, path: Path) -> Found:
    """What the sound file predicts, twice: everything that is imported late is there then."""
    path.write_bytes(target.data)
    first = target.read(path)
    with watching() as events:
        second = target.read(path)
    _of_sound_files.update(events)
    assert any(str(path) in event for event in events), "the watch does not see files"
    assert all(np.array_equal(first[name], second[name]) for name in first)
    return first


def outcome_of(target: Target, path: Path, sound: Found, forged: bool) -> str:
    """One of the allowed outcomes, or in words what happened instead."""
    found: Found | None = None
    with watching() as events, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = target.read(path)
        except ValueError as error:
            outcome = _refusal(error)
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
    if "attack_bait" in sys.modules:
        sys.modules.pop("attack_bait")
        return "the file had a module imported"
    strange = [event for event in events if not _is_usual(event)]
    if strange:
        return f"the file caused {strange[0]}"
    if found is None:
        return outcome
    if _same(found, sound):
        return SAME
    if not forged:
        return "other predictions"
    finite = all(np.isfinite(v).all() for v in found.values() if v.dtype.kind == "f")
    return OTHER if finite else "predictions that are not finite"


def _refusal(error: ValueError) -> str:
    said = str(error)
    if "\n" in said or not said or len(said) > 1000:
        return f"not one line: {said[:200]!r}"
    frames, step = [], error.__traceback__
    while step is not None:
        frames.append(step.tb_frame.f_globals.get("__name__", ""))
        step = step.tb_next
    if not frames[-1].startswith("directgp."):
        return f"an error of another library ({frames[-1]}): {said[:200]}"
    at_load = any(name.startswith("directgp.persistence") for name in frames)
    return REFUSED if at_load or "is inconsistent" in said else LATE


def _is_usual(event: str) -> bool:
    """What sound files cause, too; and an unusual shape has parts of JAX and NumPy imported."""
    if event in _of_sound_files:
        return True
    if event.startswith("open ('"):  # what is imported is read
        return any(event.startswith(f"open ('{place}") for place in _LIBRARIES)
    return event.startswith("import ") and any(
        event.startswith(f"import ('{library}") for library in ("jax", "numpy", "scipy", "equinox")
    )


def _same(found: Found, sound: Found) -> bool:
    return found.keys() == sound.keys() and all(
        found[name].shape == sound[name].shape and np.array_equal(found[name], sound[name])
        for name in sound
    )
