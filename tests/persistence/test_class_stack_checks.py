"""Stacks of classes on disk: equal to the last bit, and nothing that is inconsistent."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from directgp import DirectGPError, GPClassifier
from directgp.fitting.stacking import fit_class_stack
from directgp.persistence import load, save
from directgp.persistence.class_stack_checks import check_class_stack


@pytest.fixture(scope="module", params=[2, 3])
def stack(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    edges = [0.0] if request.param == 2 else [-0.4, 0.4]
    return fit_class_stack(X, np.digitize(X[:, 0], edges), request.param)


def test_a_loaded_stack_predicts_the_same_to_the_last_bit(stack, tmp_path):
    save(stack, tmp_path / "model")
    found = load(tmp_path / "model")
    X = np.random.default_rng(1).normal(size=(20, 2))
    expected = stack.predict(X).log_probabilities
    assert np.array_equal(found.fitted.predict(X).log_probabilities, expected)
    assert found.summary["model"] == "FittedClassStack"
    assert found.summary["weights"] == stack.shares


def test_an_estimator_comes_back(tmp_path):
    X = np.linspace(-1, 1, 40)[:, None]
    model = GPClassifier().fit(X, np.where(X[:, 0] > 0, "high", "low"))
    model.save(tmp_path / "model")
    again = GPClassifier.load(tmp_path / "model")
    assert again.classes_.tolist() == ["high", "low"]
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def _member(stack, number, **changes):
    """The stack with something else in the model of a member."""
    member = stack.members[number]
    (name,) = vars(member.model)
    part = getattr(member.model, name)
    if isinstance(part, tuple):
        made = part._replace(**changes)
    else:
        made = copy(part)
        vars(made).update(changes)  # as a file could hold it, unchecked
    changed = replace(member, model=replace(member.model, **{name: made}))
    members = (*stack.members[:number], changed, *stack.members[number + 1 :])
    return replace(stack, members=members)


MUTATIONS = {
    "weights": lambda s: replace(s, weights=s.weights[:2]),
    "shares": lambda s: replace(s, weights=2.0 * s.weights),
    "classes": lambda s: replace(s, num_classes=s.num_classes + 1),
    "support": lambda s: replace(s, support=-1.0),
    "loss": lambda s: replace(s, loss="square"),
    "members": lambda s: replace(s, members=(), weights=np.zeros(0)),
    "temperature": lambda s: replace(
        s, members=(replace(s.members[0], temperature=0.0), *s.members[1:])
    ),
    "slopes": lambda s: _member(s, 0, slopes=s.members[0].model.model.slopes[:, :1]),
    "levels": lambda s: _member(s, 0, levels=np.full(s.num_classes, np.nan)),
    "alpha": lambda s: _member(s, 1, alpha=s.members[1].model.gp.alpha[:, 1:]),
    "rows": lambda s: _member(s, 1, X=s.members[1].model.gp.X[:, :1]),
    "curvature": lambda s: _member(s, 1, curvature=-s.members[1].model.gp.curvature),
    "kernel": lambda s: _member(
        s, 1, kernel=s.members[1].model.gp.kernel._replace(log_parameters=np.zeros(3))
    ),
    "trees": lambda s: _member(s, 2, ensembles=s.members[2].model.trees.ensembles[1:]),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_parts_that_do_not_belong_together_are_refused(stack, name):
    check_class_stack(stack)
    with pytest.raises(DirectGPError):
        check_class_stack(MUTATIONS[name](stack))
