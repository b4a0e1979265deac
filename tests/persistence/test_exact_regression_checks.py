"""Exact regressions on disk: equal to the last bit, and nothing that is inconsistent."""

import copy
import pickle

import numpy as np
import pytest

import directgp as dg
from directgp.exact.matern_linear import MaternLinear
from directgp.losses import CRPS, Direct, Gibbs
from directgp.persistence import load, save
from directgp.persistence.exact_regression_checks import check_exact_regression


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    weight = np.where(np.arange(12) < 3, 2.0, 1.0)
    return dg.fit(X, X[:, 0] + 0.1 * rng.normal(size=12), model=dg.Exact(), sample_weight=weight)


@pytest.mark.parametrize("loss", ["elbo", "direct-log", "direct-square", Direct(CRPS())])
def test_a_loaded_model_predicts_the_same_to_the_last_bit(loss, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) * [1.0, 1e6, 0.0]
    made = dg.fit(X, np.sin(X[:, 0]), model=dg.Exact(), loss=loss)
    save(made, tmp_path / "model")
    stored = load(tmp_path / "model")
    new = rng.normal(size=(5, 3))
    for found in (stored.fitted, pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(found.predict(new).mean, made.predict(new).mean)
        np.testing.assert_array_equal(found.predict(new).std, made.predict(new).std)
        np.testing.assert_array_equal(found.left_out.log_prob, made.left_out.log_prob)
        assert found.hyperparameters() == made.hyperparameters()
        assert found.log_evidence == made.log_evidence and repr(found) == repr(made)
    assert stored.summary["log_evidence"] == made.log_evidence


def replace(part, **changes):
    """As `dataclasses.replace`, without the checks of types."""
    made = copy.copy(part)
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


def of_gp(**changes):
    return lambda f: replace(f, gp=replace(f.gp, **{k: v(f.gp) for k, v in changes.items()}))


def moved(values, by=0.5):
    changed = np.array(values)
    changed[1] += by
    return changed


MUTATIONS = {
    "alpha": of_gp(alpha=lambda gp: moved(gp.alpha)),
    "alpha of other rows": of_gp(alpha=lambda gp: gp.alpha[::-1].copy()),
    "nan": of_gp(alpha=lambda gp: np.full(12, np.nan)),
    "short": of_gp(alpha=lambda gp: gp.alpha[1:]),
    "columns": of_gp(X=lambda gp: gp.X[:, :1]),
    "inputs": of_gp(X=lambda gp: gp.X + 5.0 * (np.arange(12) == 3)[:, None]),
    "targets": of_gp(y=lambda gp: moved(gp.y)),
    "weights": of_gp(weight=lambda gp: np.ones(12)),
    "negative weights": of_gp(weight=lambda gp: -gp.weight),
    "kernel": of_gp(kernel=lambda gp: MaternLinear(gp.kernel.log_parameters[1:])),
    "another kernel": of_gp(kernel=lambda gp: MaternLinear(gp.kernel.log_parameters + 1.0)),
    "noise": of_gp(log_noise=lambda gp: gp.log_noise + 3.0),
    "huge noise": of_gp(log_noise=lambda gp: 60.0),
    "left-out mean": of_gp(left_out=lambda gp: gp.left_out._replace(mean=moved(gp.left_out.mean))),
    "left-out variance": of_gp(
        left_out=lambda gp: gp.left_out._replace(variance=moved(gp.left_out.variance))
    ),
    "no variance": of_gp(left_out=lambda gp: gp.left_out._replace(variance=np.zeros(12))),
    "number": lambda f: replace(f, row=np.full(12, 12)),
    "before the first": lambda f: replace(f, row=f.row - 1),
    "no whole numbers": lambda f: replace(f, row=f.row.astype(float)),
    "row twice": lambda f: replace(f, row=np.zeros(12, np.int64)),
    "rows": lambda f: replace(f, row=f.row[1:]),
    "no rows": lambda f: replace(f, row=f.row[:0], row_weight=f.row_weight[:0]),
    "weights of rows": lambda f: replace(f, row_weight=2 * f.row_weight),
    "weights below zero": lambda f: replace(f, row_weight=-f.row_weight),
    "loss": lambda f: replace(f, loss=Gibbs(CRPS())),
    "optimism": lambda f: replace(f, optimism=0.5),
    "no optimism": lambda f: replace(f, optimism=float("nan")),
    "outputs": lambda f: replace(f, num_outputs=2),
    "names": lambda f: replace(f, names=("a",)),
    "seconds": lambda f: replace(f, seconds=-1.0),
    "scale": lambda f: replace(f, targets=f.targets._replace(scale=np.zeros(1))),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_parts_that_do_not_belong_together_are_refused(name, fitted):
    with pytest.raises(ValueError) as caught:
        check_exact_regression(MUTATIONS[name](fitted))
    assert "\n" not in str(caught.value)


def test_a_sound_model_is_accepted(fitted):
    check_exact_regression(fitted)
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(20, 1)), 2, axis=0)
    y = np.repeat(np.arange(20.0), 2) + np.tile([0.0, 1e-9], 20)
    for loss in ("elbo", "direct-log", "direct-square"):  # nearly without noise
        check_exact_regression(dg.fit(X, y, model=dg.Exact(), loss=loss))
