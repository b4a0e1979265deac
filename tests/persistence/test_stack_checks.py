"""Files of stacks: read to the last bit, and refused in a line when their parts do not fit."""

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import directgp as dg
from directgp.errors import DirectGPError
from directgp.fitting.stacking import FittedStack, fit_stack
from directgp.fitting.stacking.member import ByTrees, ByTreesAndGP
from directgp.persistence import ModelFileError
from directgp.persistence.stack_checks import check_stack
from tests.attack.forge import Pieces

NEW = np.random.default_rng(5).normal(size=(9, 2))


@pytest.fixture(scope="module")
def stack():
    """Three members, each with a local scale, of 60 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, 1.0, 0.0) + np.exp(X[:, 1]) * 0.3 * rng.normal(size=60)
    fitted = fit_stack(X, y)
    scale = next(member.scale for member in fitted.members if member.scale is not None)
    members = [replace(member, scale=scale, strength=0.5) for member in fitted.members]
    return replace(fitted, members=tuple(members))


@pytest.fixture(scope="module")
def sound(stack, tmp_path_factory):
    """The first and the last member, which have all there is in a stack."""
    path = tmp_path_factory.mktemp("sound") / "stack"
    members = (replace(stack.members[0], scale=None, strength=0.0), stack.members[-1])
    dg.save(replace(stack, members=members, weights=np.array([0.5, 0.5])), path)
    return Pieces.of(path.read_bytes())


def assert_refused(data: bytes, folder, complaint: str = "") -> None:
    path = folder / "altered"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        dg.load(path)
    said = str(caught.value)
    assert "\n" not in said and re.search(complaint, said), said


def test_a_file_predicts_the_same_to_the_last_bit(stack, tmp_path):
    dg.save(stack, tmp_path / "stack")
    loaded = dg.load(tmp_path / "stack").fitted
    assert isinstance(loaded, FittedStack)
    again = pickle.loads(pickle.dumps(stack))
    for other in (loaded, again):
        own, found = stack.predict(NEW), other.predict(NEW)
        np.testing.assert_array_equal(found.means, own.means)
        np.testing.assert_array_equal(found.variances, own.variances)
        np.testing.assert_array_equal(found.log_weights, own.log_weights)
        np.testing.assert_array_equal(other.out_of_fold, stack.out_of_fold)
        assert repr(other) == repr(stack)
        assert other.hyperparameters() == stack.hyperparameters()


def test_it_is_read_without_the_factor(sound):
    sizes = [array.size for array in sound.arrays.values()]
    assert max(sizes) < 60 * 60  # of K nothing is stored


CHANGES = {
    "NaN": lambda a: _spoilt(a, np.nan),
    "infinite": lambda a: _spoilt(a, -np.inf),
    "another axis": lambda a: a[None],
    "longer": lambda a: np.concatenate([a, a], axis=-1),
    "shorter": lambda a: a[..., :-1],
    "empty": lambda a: a[..., :0],
    "another kind": lambda a: a.astype(np.int32 if a.dtype == np.int64 else np.float32),
}


def _spoilt(array, value):
    changed = array.astype(np.float64)
    changed.flat[-1] = value
    return changed


@pytest.mark.parametrize("what", CHANGES)
def test_every_array_is_checked(what, sound, tmp_path):
    # Every place for NaN; for the rest one array of each name, as all GPs are checked alike.
    last = {name.rsplit(".", 1)[-1]: name for name in sound.arrays}
    for name in sound.arrays if what == "NaN" else last.values():
        array = sound.arrays[name]
        if what in ("longer", "shorter") and name.endswith("out_of_fold"):
            continue  # as long as the rows that were judged
        if what == "another kind" and array.dtype == np.int64:
            continue  # narrower whole numbers are whole numbers
        changed = np.ascontiguousarray(CHANGES[what](array))
        if what in ("longer", "shorter") and name.endswith("roots"):
            changed = np.ascontiguousarray(changed[::-1])
        forged = Pieces(sound.said, sound.arrays | {name: changed}, sound.content)
        assert_refused(forged.packed(True), tmp_path)


def test_swapped_arrays_are_noticed(sound, tmp_path):
    names = [name for name in sound.arrays if name.endswith((".left", ".feature"))][:2]
    one, two = names
    said = json.dumps(sound.said).replace(f'"{one}"', '"here"').replace(f'"{two}"', f'"{one}"')
    forged = sound.saying(json.loads(said.replace('"here"', f'"{two}"')))
    assert_refused(forged.packed(True), tmp_path, "belongs to another path")


def altered_trees(stack, **changed):
    members = [
        replace(
            member,
            location=replace(member.location, trees=member.location.trees._replace(**changed)),
        )
        if isinstance(member.location, ByTrees)
        else member
        for member in stack.members
    ]
    return replace(stack, members=tuple(members))


def trees_of(stack):
    return next(m.location.trees for m in stack.members if isinstance(m.location, ByTrees))


def changed_at(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


def test_a_sound_stack_is_sound(stack):
    check_stack(stack)


def test_nodes_that_are_no_trees_are_refused(stack):
    trees = trees_of(stack)
    inner = int(np.flatnonzero(trees.left != np.arange(len(trees.left)))[0])
    end, nodes = int(trees.roots[1]), len(trees.left)
    leaf = int(np.flatnonzero(trees.left == np.arange(nodes))[-1])
    wrong = {
        "a parent as a child": {"left": changed_at(trees.left, leaf, 0)},
        "itself as one child": {"left": changed_at(trees.left, inner, inner)},
        "a child in another tree": {"right": changed_at(trees.right, inner, end)},
        "a child beyond the end": {"right": changed_at(trees.right, inner, nodes)},
        "a negative child": {"left": changed_at(trees.left, inner, -1)},
        "a column that is none": {"feature": changed_at(trees.feature, inner, 2)},
        "a negative column": {"feature": changed_at(trees.feature, inner, -1)},
        "a root twice": {"roots": changed_at(trees.roots, 1, 0)},
        "roots in disorder": {"roots": trees.roots[::-1].copy()},
        "a root beyond the end": {"roots": changed_at(trees.roots, -1, nodes)},
        "no first tree": {"roots": trees.roots[1:].copy()},
        "no roots": {"roots": trees.roots[:0].copy()},
        "a NaN": {"threshold": changed_at(trees.threshold, inner, np.nan)},
        "an infinite leaf": {"value": changed_at(trees.value, leaf, np.inf)},
    }
    for name, changed in wrong.items():
        with pytest.raises(ValueError, match=r"tree|nodes|roots") as caught:
            check_stack(altered_trees(stack, **changed))
        assert "\n" not in str(caught.value), name


def test_weights_that_are_no_shares_are_refused(stack):
    for weights in ([0.5, 0.5, 0.5], [-0.5, 1.0, 0.5], [0.5, 0.5], [np.nan, 0.5, 0.5]):
        with pytest.raises(ValueError, match=r"weights|NaN") as caught:
            check_stack(replace(stack, weights=np.array(weights)))
        assert "\n" not in str(caught.value)


def test_numbers_of_members_are_checked(stack):
    member = stack.members[-1]
    shape, location = member.shape, member.location
    assert isinstance(location, ByTreesAndGP) and member.scale is not None
    gp = location.gp
    kernel = gp.kernel._replace(log_parameters=gp.kernel.log_parameters + 100.0)
    wrong = [
        replace(member, factor=0.0),
        replace(member, factor=-1.0),
        replace(member, strength=1.5),
        replace(member, shape=shape._replace(deviation=-shape.deviation)),
        replace(member, shape=shape._replace(centre=shape.centre[:-1])),
        replace(member, shape=shape._replace(weight=2.0 * shape.weight)),
        replace(member, scale=member.scale._replace(level=1e4)),
        replace(member, location=replace(location, size=0.0)),
        replace(member, location=replace(location, gp=replace(gp, log_noise=-100.0))),
        replace(member, location=replace(location, gp=replace(gp, kernel=kernel))),
        replace(member, location=replace(location, gp=replace(gp, weight=-gp.weight))),
        replace(member, location=replace(location, gp=replace(gp, X=gp.X[:, 1:].copy()))),
    ]
    for each in wrong:
        with pytest.raises(DirectGPError) as caught:
            check_stack(replace(stack, members=(*stack.members[:-1], each)))
        assert "\n" not in str(caught.value)


def test_no_members_and_unknown_losses_are_refused(stack):
    with pytest.raises(ValueError, match="members"):
        check_stack(replace(stack, members=(), weights=np.zeros(0)))
    with pytest.raises(ValueError, match="loss"):
        check_stack(replace(stack, loss="hinge"))


def test_a_stack_of_trees_alone_can_be_described(stack):
    alone = replace(stack, members=stack.members[2:3], weights=np.ones(1))
    check_stack(alone)
    assert alone.relevance(["a", "b"]) == {}
    assert set(alone.hyperparameters()) == {"trees"}
    assert np.all(np.isfinite(alone.predict(NEW).mean))
