"""Whatever a model file can hold is in a file that the attacks alter."""

from collections import Counter

import numpy as np
import pytest

from directgp.persistence.classes import known_classes
from directgp.persistence.model_file import _CHECKS
from tests.attack.forge import Pieces
from tests.attack.mutations import class_places, inside
from tests.attack.targets import targets

NEVER_SAVED = {
    "FromTinyGP": "holds a kernel of another library, which is not savable",
    "FromGPJax": "holds a kernel of another library, which is not savable",
    "GaussianVector": "made when several outputs are predicted, and not kept",
    "ProductVector": "made when several outputs are predicted, and not kept",
    "_KLOfFirst": "of an objective within training",
    "_LossGivenInducing": "of an objective within training",
}
"""Classes on the list that no saved model has."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return targets(tmp_path_factory.mktemp("sound"))


def test_every_class_that_can_be_saved_is_in_a_file_of_the_attacks(files):
    """A new one needs a place in `untrained`, `target_stacks` or `targets`."""
    named = set()
    for target in files:
        said = Pieces.of(target.data).said
        named |= {inside(said, path) for path in class_places(said)}
    assert set(known_classes()) - named == set(NEVER_SAVED)


def test_every_type_of_fitted_model_is_the_model_of_a_file(files):
    found = Counter(Pieces.of(target.data).said["fitted"]["!class"] for target in files)
    assert set(found) == {cls.__name__ for cls in _CHECKS}
    assert len({target.name for target in files}) == len(files)


def test_sound_files_predict(files, tmp_path):
    path = tmp_path / "model"
    for target in files:
        path.write_bytes(target.data)
        numbers = [v for v in target.read(path).values() if v.dtype.kind == "f"]
        assert numbers and all(np.isfinite(values).all() for values in numbers), target.name
