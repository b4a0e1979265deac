"""Stacks with a trained GP as a member, as thousands of rows get one: saved, loaded and checked."""

from copy import copy

import numpy as np
import pytest

import directgp as dg
from directgp.fitting.specs import Coregionalised, Sparse
from directgp.fitting.stacking import fit_class_stack, fit_count_stack, fit_stack
from directgp.persistence import DamagedModelFile
from tests.attack.forge import forged
from tests.attack.target_stacks import with_trained_member
from tests.attack.untrained import NEW, described, untrained

_SMALL = Sparse(num_inducing=4)


def _rows(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 3))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=count)


FITS = {
    "numbers": lambda X, y: fit_stack(X, y),
    "2 classes": lambda X, y: fit_class_stack(X, (y > 0).astype(float), 2),
    "3 classes": lambda X, y: fit_class_stack(X, np.digitize(y, [-0.4, 0.4]).astype(float), 3),
    "counts": lambda X, y: fit_count_stack(X, np.round(np.exp(y))),
}


@pytest.fixture(scope="module")
def stacks():
    return {name: with_trained_member(fit(*_rows())) for name, fit in FITS.items()}


@pytest.mark.parametrize("name", FITS)
def test_a_stack_with_a_trained_member_is_saved_and_predicts_the_same(name, stacks, tmp_path):
    dg.save(stacks[name], tmp_path / "model")
    loaded = dg.load(tmp_path / "model").fitted
    found, own = described(loaded.predict(NEW)), described(stacks[name].predict(NEW))
    for key, values in own.items():
        np.testing.assert_array_equal(found[key], values)
    assert repr(loaded) == repr(stacks[name])


def _with_member(stack, fitted):
    """The stack with another GP in its last member."""
    *others, last = stack.members
    part = "location" if hasattr(last, "location") else "model"
    member, inner = copy(last), copy(getattr(last, part))
    vars(inner)["fitted"] = fitted  # as a file could hold it, unchecked
    vars(member)[part] = inner
    changed = copy(stack)
    vars(changed)["members"] = (*others, member)
    return changed


WRONG = {
    "several outputs": lambda columns: untrained(
        Coregionalised(_SMALL, np.eye(2)), dg.GaussianOutputs(2), columns=columns
    ),
    "several outputs of counts": lambda columns: untrained(
        Coregionalised(_SMALL, np.eye(2)), dg.PoissonExp(), columns=columns
    ),
    "several outputs of classes": lambda columns: untrained(
        Coregionalised(_SMALL, np.eye(2)), dg.BernoulliProbit(), columns=columns
    ),
    "four classes": lambda columns: untrained(_SMALL, dg.Categorical(4), columns=columns),
    "another column": lambda columns: untrained(_SMALL, dg.Gaussian(), columns=columns + 1),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FITS)
def test_a_trained_member_of_something_else_is_refused(name, wrong, stacks, tmp_path):
    columns = 4 if name == "numbers" else 3
    (tmp_path / "model").write_bytes(forged(_with_member(stacks[name], WRONG[wrong](columns))))
    with pytest.raises(DamagedModelFile, match=r"trained member|classes of a GP") as caught:
        dg.load(tmp_path / "model")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("support", [0.0, -1.0, -1e300])
def test_a_model_is_learned_from_rows(support, tmp_path):
    fitted = untrained(_SMALL, dg.BernoulliProbit())
    object.__setattr__(fitted, "support", support)
    (tmp_path / "model").write_bytes(forged(fitted))
    with pytest.raises(DamagedModelFile, match="training rows must be positive"):
        dg.load(tmp_path / "model")
