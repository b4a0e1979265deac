"""Stored stacks of counts: nothing that is inconsistent."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from directgp import DirectGPError
from directgp.fitting.stacking import fit_count_stack
from directgp.persistence.count_stack_checks import check_count_stack


@pytest.fixture(scope="module")
def stack():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    return fit_count_stack(X, rng.poisson(np.exp(X[:, 0])))


def _member(stack, number, **changes):
    changed = copy(stack.members[number])
    vars(changed).update(changes)  # as a file could hold it, unchecked
    return replace(stack, members=(*stack.members[:number], changed, *stack.members[number + 1 :]))


def _model(stack, number, **changes):
    return _member(stack, number, model=replace(stack.members[number].model, **changes))


MUTATIONS = {
    "weights": lambda s: replace(s, weights=s.weights[:2]),
    "shares": lambda s: replace(s, weights=2.0 * s.weights),
    "dispersion": lambda s: replace(s, dispersion=-1.0),
    "loss": lambda s: replace(s, loss="crps"),
    "no members": lambda s: replace(s, members=()),
    "level": lambda s: _member(s, 0, level=1e6),
    "offsets": lambda s: _member(s, 0, offsets=s.members[0].offsets[:1], shares=np.ones(2)),
    "far offsets": lambda s: _member(s, 0, offsets=s.members[0].offsets + 1e3),
    "slopes": lambda s: _model(s, 0, slopes=np.ones(5)),
    "scale": lambda s: _model(s, 1, scale=0.0),
    "trees": lambda s: _model(
        s, 2, trees=s.members[2].model.trees._replace(feature=s.members[2].model.trees.feature + 9)
    ),
    "gp without its base": lambda s: _model(s, 3, trees=None),
    "swapped": lambda s: _member(s, 0, model=s.members[0]),
}


def test_a_sound_stack_passes(stack):
    assert check_count_stack(stack) is None


@pytest.mark.parametrize("name", MUTATIONS)
def test_what_does_not_hold_together_is_refused(stack, name):
    with pytest.raises((DirectGPError, ValueError)):
        check_count_stack(MUTATIONS[name](stack))
