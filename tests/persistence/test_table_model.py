"""What a forged file of ``directgp fit`` says of its table is refused before anybody acts on it."""

import json

import pytest

import directgp as dg
from directgp.cli.app import run
from directgp.persistence import DamagedModelFile
from directgp.tables import write_table
from tests.attack.forge import Pieces


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("table model")
    table = {
        "size": [float(k % 7) for k in range(20)],
        "kind": ["barn" if k % 3 else "flat" for k in range(20)],
        "sold": ["yes" if k % 7 > 3 else "no" for k in range(20)],
    }
    write_table(folder / "t.csv", table)
    model = folder / "m.dgp"
    assert run(["fit", str(folder / "t.csv"), "-t", "sold", "-o", str(model), "--quiet"]) == 0
    return model.read_bytes()


FORGED = {
    "not valid Unicode in a label": ("target", '"yes"', r'"\ud800"'),
    "not valid Unicode in a level": ("encoder", '"barn"', r'"\ud800"'),
    "an infinite label": ("target", '"yes"', "1e999"),
    "a label that is no number": ("target", '"yes"', "NaN"),
    "a label of 400 digits": ("target", '"yes"', "1" + "0" * 400),
    "a name that is said twice": ("target", '"version": 1', '"version": 1, "version": 1'),
    "too deep": ("encoder", '"fills": [', '"fills": [' + "[" * 90_000 + "]" * 90_000 + ", "),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=list(FORGED))
def test_texts_within_are_read_as_strictly_as_the_file(sound, forged, tmp_path):
    key, old, new = forged
    pieces = Pieces.of(sound)
    extras = json.loads(json.dumps(pieces.said["extras"]))
    text = extras[key][0] if isinstance(extras[key], list) else extras[key]
    assert old in text
    text = text.replace(old, new)
    extras[key] = [text] if isinstance(extras[key], list) else text
    path = tmp_path / "forged.dgp"
    path.write_bytes(pieces.saying(pieces.said | {"extras": extras}).packed(True))
    with pytest.raises(DamagedModelFile, match="is inconsistent") as caught:
        dg.load_table_model(path)
    assert "\n" not in str(caught.value)


def test_the_sound_file_is_read(sound, tmp_path):
    path = tmp_path / "sound.dgp"
    path.write_bytes(Pieces.of(sound).packed(True))
    assert dg.load_table_model(path).targets[0].labels == ("no", "yes")
