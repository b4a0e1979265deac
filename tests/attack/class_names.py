"""The attack by names of classes: every name that a model file can hold, in files of every kind."""

import copy
import sys
import tempfile
from pathlib import Path

import numpy as np

from directgp.parameters import transforms
from directgp.persistence.classes import known_classes
from tests.attack.forge import Pieces
from tests.attack.model_files import ALLOWED, BAIT, OTHER, outcome_of, read_twice
from tests.attack.mutations import NAMES, class_places, inside
from tests.attack.result import Result, Tell, silent
from tests.attack.targets import targets

_SLOWEST = 30.0


def attack(count: int, seed: int = 0, tell: Tell = silent, few: bool = False) -> Result:
    """Write each name into each kind of file, at another place in every round, `count` files.

    Both checksums are put right, as by someone who knows the format. The names are those on the
    closed list, the transforms of parameters, and some that are on no list.
    """
    result = Result()
    names = [*known_classes(), *transforms, *NAMES]
    with tempfile.TemporaryDirectory() as folder:
        found = targets(Path(folder), few=few)
        path = Path(folder) / "model"
        sys.path.insert(0, folder)  # so that an import would find what a file names
        (Path(folder) / "attack_bait.py").write_text(BAIT)
        try:
            sound = [read_twice(target, path) for target in found]
            tell(f"{len(names)} names, {len(found)} kinds of files")
            for number in range(count):
                which, name = number % len(found), names[number // len(found) % len(names)]
                rng = np.random.default_rng([seed, number])
                path.write_bytes(_renamed(rng, found[which].data, name))
                with result.timed() as took:
                    outcome = outcome_of(found[which], path, sound[which], forged=True)
                if took.processor > _SLOWEST:
                    outcome = f"it took {took.processor:.0f} s of processor time"
                allowed = (*ALLOWED, OTHER)
                said = outcome if outcome in allowed else f"{name}, number {number}: {outcome}"
                result.add(found[which].name, said, allowed, tell)
        finally:
            sys.path.remove(folder)
    return result


def _renamed(rng: np.random.Generator, data: bytes, name: str) -> bytes:
    """The file with another name at one of the places where it names a class or a transform."""
    pieces = Pieces.of(data)
    said = copy.deepcopy(pieces.said)
    places = class_places(said)
    path = places[int(rng.integers(len(places)))]
    inside(said, path[:-1])[path[-1]] = name
    return pieces.saying(said).packed(True)
