"""The attack by extreme numbers: every number of a model file in turn is huge, tiny or negative.

Both checksums are put right, as by someone who knows the format. A file is refused, ends in one
line when it predicts, or predicts finite numbers.
"""

import copy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.attack.forge import Pieces
from tests.attack.model_files import ALLOWED, OTHER, outcome_of, read_twice
from tests.attack.mutations import every_place, inside
from tests.attack.result import Result, Tell, silent
from tests.attack.targets import targets

VALUES = (1e300, 1e160, 700.0, 45.0, 1e-300, 0.0, -45.0, -700.0, -1e160, -1e300)
_SLOWEST = 30.0


def attack(count: int, seed: int = 0, tell: Tell = silent, few: bool = False) -> Result:
    """Spoil one number, or all of one array, in `count` files of all kinds (or a few) in turn."""
    result = Result()
    with tempfile.TemporaryDirectory() as folder:
        found = targets(Path(folder), few=few)
        path = Path(folder) / "model"
        sound = [read_twice(target, path) for target in found]
        pieces = [Pieces.of(target.data) for target in found]
        numbers = [_numbers(each) for each in pieces]
        tell(f"{sum(map(len, numbers))} arrays and numbers in {len(found)} kinds of files")
        for number in range(count):
            which, turn = number % len(found), number // len(found)
            rng = np.random.default_rng([seed, number])
            place = numbers[which][turn % len(numbers[which])]
            value = float(rng.choice(VALUES))
            path.write_bytes(_spoilt(pieces[which], place, value, rng).packed(True))
            with result.timed() as took:
                outcome = outcome_of(found[which], path, sound[which], forged=True)
            if took.processor > _SLOWEST:
                outcome = f"it took {took.processor:.0f} s of processor time"
            allowed = (*ALLOWED, OTHER)
            said = outcome if outcome in allowed else f"{place} = {value:g}: {outcome}"
            result.add(found[which].name, said, allowed, tell)
    return result


def _numbers(pieces: Pieces) -> list[Any]:
    """The names of arrays of numbers, and where a number is said."""
    arrays = [name for name, array in pieces.arrays.items() if array.dtype.kind == "f"]
    said = [
        ("fitted", *path)
        for path in every_place(pieces.said["fitted"])
        if type(inside(pieces.said["fitted"], path)) in (int, float)
    ]
    return [*arrays, *said]


def _spoilt(pieces: Pieces, place: Any, value: float, rng: np.random.Generator) -> Pieces:
    """The pieces with another number there; of an array it may be one entry or all."""
    if isinstance(place, str):
        array = np.array(pieces.arrays[place])
        if not array.size:
            return pieces
        if rng.random() < 0.5:
            array[...] = value
        else:
            array.flat[rng.integers(array.size)] = value
        return Pieces(pieces.said, pieces.arrays | {place: array}, pieces.content)
    said = copy.deepcopy(pieces.said)
    inside(said, place[:-1])[place[-1]] = value
    return pieces.saying(said)
