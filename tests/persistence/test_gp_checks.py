"""Files whose checksums are right and whose parts do not belong together are refused at load."""

import json
import re
import struct
from dataclasses import replace

import jax
import numpy as np
import pytest

import directgp as dg
from directgp.errors import DirectGPError
from directgp.models.means import ConstantMean
from directgp.persistence import ModelFileError, NotSavable
from directgp.persistence.bounded_json import read_json
from directgp.tables import Standardiser
from tests.attack.forge import Pieces, forged, header_of, signed, unsigned, with_header
from tests.attack.untrained import NEW, STRUCTURES, structures


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A sound file of every structure, taken apart."""
    made = structures(tmp_path_factory.mktemp("sound"))
    return {target.name: target.data for target in made}


def assert_refused(data: bytes, folder, complaint: str = "") -> str:
    path = folder / "altered"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        dg.load(path)
    said = str(caught.value)
    assert "\n" not in said and re.search(complaint, said), said
    return said


def spoilt(array: np.ndarray, value: float) -> np.ndarray:
    changed = np.array(array)
    changed.flat[-1] = value
    return changed


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_array_is_checked(sound, name, tmp_path):
    pieces = Pieces.of(sound[name])
    wrong = {
        "NaN": lambda a: spoilt(a, np.nan),
        "infinite": lambda a: spoilt(a, -np.inf),
        "float32": lambda a: a.astype(np.float32),
        "whole": lambda a: a.astype(np.int64),
        "another axis": lambda a: a[None],
        "longer": lambda a: np.concatenate([a, a], axis=-1) if a.ndim else np.stack([a] * 4),
        "empty": lambda a: a[..., :0] if a.ndim else np.zeros(0),
    }
    # All of them where they are few; what tells structures apart is shapes.
    chosen = wrong if name in ("sparse", "outputs") else {k: wrong[k] for k in ("NaN", "longer")}
    for array in pieces.arrays:
        for what, change in chosen.items():
            for_all = pieces.arrays[array].shape == () and "part.variance" in array
            if what == "another axis" and for_all:  # one number for all columns
                continue
            if what == "longer" and array.endswith("score.prices"):  # a cost of more actions
                continue
            changed = pieces.arrays | {array: np.ascontiguousarray(change(pieces.arrays[array]))}
            forged = Pieces(pieces.said, changed, pieces.content)
            assert_refused(forged.packed(True), tmp_path)
            if what == "NaN":
                assert_refused(forged.packed(False), tmp_path, "does not match its checksum")


def test_swapped_arrays_are_noticed(sound, tmp_path):
    pieces = Pieces.of(sound["sparse"])
    shift, scale = "fitted.inputs.shift", "fitted.inputs.scale"
    swapped = pieces.arrays | {shift: pieces.arrays[scale], scale: pieces.arrays[shift]}
    assert_refused(Pieces(pieces.said, swapped, pieces.content).packed(False), tmp_path, "checksum")
    said = json.loads(json.dumps(pieces.said).replace(shift, "here").replace(scale, shift))
    said = json.loads(json.dumps(said).replace("here", scale))
    assert_refused(pieces.saying(said).packed(True), tmp_path, "belongs to another path")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"beta": 0.5', '"beta": -0.5', "β must be"),
        ('"beta": 0.5', '"beta": "0.5"', "FittedGP.beta must be float"),
        ('"beta": 0.5', '"beta": 1e999', "checksum"),
        ('"beta": 0.5', '"beta": 0.5, "gamma": 1', "FittedGP.gamma"),
        ('"precision": "float64"', '"precision": "float16"', "precision"),
        ('"!class": "RBF"', '"!class": "Matern99"', "does not know"),
        ('"!class": "RBF"', '"!class": "Gaussian"', "does not know|must be"),
        ('"!class": "RBF"', '"!class": "a\\nb"', "does not know"),
        ('"!transform": "exp-above"', '"!transform": "lower-triangular"', "transform|number"),
        ('"names": null', '"names": {"!tuple": ["a", "a", "b"]}', "one name"),
        ('"names": null', '"names": {"!tuple": ["a"]}', "names of the input columns"),
        ('["x0", "number"]', '["x1", "number"]', "features"),
        ('["x0", "number"], ', "", "features"),
        ('"history": {', '"history": {"a": ["b"], ', "must hold numbers"),
        ('"extras": {', '"extras": {"a": {"!tuple": 3}', "should be a list"),
        ('"columns": {"!tuple": [0, 2]}', '"columns": {"!tuple": [0, 9]}', "columns"),
        ('"columns": {"!tuple": [0, 2]}', '"columns": {"!tuple": []}', "columns"),
    ],
)
def test_words_that_do_not_fit_are_refused(sound, tmp_path, old, new, complaint):
    pieces = Pieces.of(sound["sparse"])
    text = json.dumps(pieces.said, ensure_ascii=False)
    fitted = text.index('"fitted"')
    at = text.index(old, 0 if "number" in old or "extras" in old else fitted)
    text = text[:at] + new + text[at + len(old) :]
    assert_refused(pieces.packed(True, text), tmp_path, complaint)


@pytest.mark.parametrize(
    ("name", "old", "new", "complaint"),
    [
        ("samples", '"predict_samples": 50', '"predict_samples": 2000000', "beyond 10,000"),
        ("samples", '"predict_samples": 50', '"predict_samples": 0', "at least 1 sample"),
        ("classes", '"num_classes": 3', '"num_classes": 4', "needs 4 latent functions"),
        ("classes", '"num_classes": 3', '"num_classes": 1', "at least 2"),
        ("grid", '"sites": 2', '"sites": 3', "shape|components"),
        ("samples", '"skip": true', '"skip": false', "inducing inputs must have the shape"),
        ("sigma points", '"skip": false', '"skip": true', "inducing inputs must have the shape"),
        ("outputs", '"with_number": true', '"with_number": false', "latent functions"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(sound, tmp_path, name, old, new, complaint):
    pieces = Pieces.of(sound[name])
    text = json.dumps(pieces.said, ensure_ascii=False)
    assert old in text
    assert_refused(pieces.packed(True, text.replace(old, new)), tmp_path, complaint)


@pytest.mark.parametrize("shape", [[2**62], [2**31] * 3, [0, 2**62], [-1], [10**30], "x", None])
def test_huge_shapes_in_the_header_are_refused(sound, tmp_path, shape):
    blank = unsigned(sound["sparse"])
    header = json.loads(header_of(blank))
    header["fitted.inputs.shift"]["shape"] = shape
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    assert_refused(signed(with_header(blank, text)), tmp_path, "damaged")


def test_a_header_that_is_too_long_is_refused_before_it_is_read(sound, tmp_path):
    data = sound["sparse"]
    for size in (2**63, len(data) * 2, 2**20):
        changed = signed(struct.pack("<Q", size) + unsigned(data)[8:])
        assert_refused(changed, tmp_path, "damaged")


def test_deep_and_endless_json_is_refused(sound, tmp_path):
    pieces = Pieces.of(sound["sparse"])
    text = json.dumps(pieces.said | {"extras": {"a": "here"}})
    for inside in ("[" * 50_000 + "]" * 50_000, '{"!tuple": [' * 300 + "]}" * 300, "9" * 5000):
        assert_refused(pieces.packed(True, text.replace('"here"', inside)), tmp_path)
    deep = '{"!tuple": [' * 200 + "]}" * 200
    assert_refused(
        pieces.packed(True, text.replace('"here"', deep)), tmp_path, "parts within|recursion"
    )
    for bad in ("NaN", "Infinity", '{"a": 1, "a": 2}', "1" * 30, "{", "\ud800", "1e999"):
        with pytest.raises(ValueError) as caught:
            read_json(bad.encode("utf-8", "surrogatepass"))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="at most"):
        read_json(" " * (33 << 20))


def test_files_of_the_first_format_are_read(sound, tmp_path):
    """They have the modules of classes, and no digest of the content."""
    pieces = Pieces.of(sound["sparse"])
    text = json.dumps(pieces.said, ensure_ascii=False).replace('"schema": 2', '"schema": 1')
    text = re.sub(r'"!class": "(\w+)"', r'"!class": "directgp.kernels.elsewhere.\1"', text)
    whole = pieces.packed(True, text)
    header = json.loads(header_of(unsigned(whole)))
    del header["__metadata__"]["content"]
    old = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    path = tmp_path / "old"
    path.write_bytes(signed(with_header(unsigned(whole), old)))
    (tmp_path / "new").write_bytes(sound["sparse"])
    rows = np.zeros((2, 3))
    before, after = (dg.load(tmp_path / name).fitted.predict(rows) for name in ("old", "new"))
    np.testing.assert_array_equal(before.mean, after.mean)
    # Only the first format may leave it out.
    header["__metadata__"]["directgp-model"] = text.replace('"schema": 1', '"schema": 2')
    new = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    assert_refused(signed(with_header(unsigned(whole), new)), tmp_path, "checksum")


def test_what_could_not_be_read_again_is_not_saved(sound, tmp_path):
    (tmp_path / "m").write_bytes(sound["sparse"])
    fitted = dg.load(tmp_path / "m").fitted
    bad = fitted.inputs._replace(scale=np.array([1.0, np.nan, 1.0]))
    with pytest.raises(NotSavable, match="NaN or infinite"):
        dg.save(replace(fitted, inputs=bad), tmp_path / "bad")
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize(
    ("name", "part", "changed", "complaint"),
    [
        ("sparse", "targets", Standardiser(np.zeros(1), np.array([1e200])), "too large"),
        ("sparse", "targets", Standardiser(np.array([1.7e308]), np.ones(1)), "too large"),
        ("outputs", "targets", Standardiser(np.zeros(2), np.array([1.0, 1e300])), "too large"),
    ],
)
def test_targets_whose_variance_would_be_infinite_are_refused(
    name, part, changed, complaint, sound, tmp_path
):
    path = tmp_path / "sound"
    path.write_bytes(sound[name])
    fitted = replace(dg.load(path).fitted, **{part: changed})
    assert_refused(forged(fitted), tmp_path, complaint)


@pytest.mark.parametrize("link", [dg.PoissonExp(), dg.NegativeBinomialExp()])
def test_rates_whose_square_is_infinite_are_one_line(link, sound, tmp_path):
    path = tmp_path / "counts"
    path.write_bytes(sound["sparse"])
    fitted = dg.load(path).fitted
    for level, fits in ((100.0, True), (600.0, False)):
        with jax.enable_x64(True):
            model = replace(fitted.gp.model, mean_function=ConstantMean(level))
        path.write_bytes(forged(replace(fitted, gp=dg.GP(model, link))))
        loaded = dg.load(path).fitted
        if fits:
            assert np.isfinite(loaded.predict(NEW).variance).all()
        else:
            with pytest.raises(DirectGPError, match="numbers that are not finite"):
                loaded.predict(NEW)
