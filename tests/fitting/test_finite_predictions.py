"""Predictions whose variance would be infinite end in one line, in the user's units too."""

from dataclasses import replace

import numpy as np
import pytest

import directgp as dg
from directgp.errors import DirectGPError
from directgp.fitting.specs import Sparse
from directgp.fitting.stacking import fit_stack
from directgp.tables import Standardiser
from tests.attack.untrained import NEW, untrained

SCALES = [(1e100, True), (1e200, False)]


@pytest.mark.parametrize(("scale", "fits"), SCALES)
@pytest.mark.parametrize("kind", ["one GP", "stack", "stack of a log target"])
def test_a_variance_that_is_infinite_is_one_line(kind, scale, fits):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=40)
    if kind == "one GP":
        fitted = untrained(Sparse(num_inducing=4, mean_field=False), dg.Gaussian())
    else:
        fitted = fit_stack(X, np.exp(3 * y) if "log" in kind else y)
    if kind == "stack of a log target" and fitted.warp is not None:
        warp = replace(fitted.warp, lowest=scale, highest=10 * scale)
        changed = replace(fitted, warp=warp, targets=Standardiser(np.log([2 * scale]), np.ones(1)))
    else:
        changed = replace(fitted, targets=Standardiser(np.zeros(1), np.array([scale])))
    if fits:
        assert np.isfinite(changed.predict(NEW).variance).all()
    else:
        with pytest.raises(DirectGPError, match=r"not finite|below 1e\+154"):
            changed.predict(NEW)
