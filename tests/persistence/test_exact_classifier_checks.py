"""Exact classifiers on disk: equal to the last bit, and nothing that is inconsistent."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import BinaryCost, DirectGPError
from directgp.decisions.exact_inference import fit_exact_for_cost
from directgp.kernels import RBF
from directgp.likelihoods import BernoulliLogit
from directgp.persistence import load, save
from directgp.persistence.exact_classifier_checks import check_exact


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(9, 2))
    return fit_exact_for_cost(X, X[:, 0] > 0, BinaryCost(1, 5), max_steps=0)


def test_a_loaded_model_predicts_the_same_to_the_last_bit(fitted, tmp_path):
    save(fitted, tmp_path / "model")
    found = load(tmp_path / "model")
    X = np.random.default_rng(1).normal(size=(5, 2))
    expected = fitted.predict(X).log_probabilities
    assert np.array_equal(found.fitted.predict(X).log_probabilities, expected)
    assert repr(found.fitted) == repr(fitted)
    assert found.summary["inference"] == "linearised-loss-em"


def _posterior(fitted, **changes):
    own = fitted.exact.posterior
    made = eqx.tree_at(
        lambda q: [getattr(q, name) for name in changes], own, list(changes.values())
    )
    return replace(fitted, exact=replace(fitted.exact, posterior=made))


def _gp(fitted, name, value):
    made = eqx.tree_at(lambda gp: getattr(gp, name), fitted.exact.gp, value)
    return replace(fitted, exact=replace(fitted.exact, gp=made))


MUTATIONS = {
    "mean": lambda f: _posterior(f, mean=f.exact.posterior.mean[1:]),
    "nan": lambda f: _posterior(f, mean=jnp.full(9, jnp.nan)),
    "indefinite": lambda f: _posterior(f, covariance=jnp.ones((9, 9)) + 1e-9 * jnp.eye(9)[::-1]),
    "negative": lambda f: _posterior(f, covariance=-f.exact.posterior.covariance),
    "asymmetric": lambda f: _posterior(
        f, covariance=f.exact.posterior.covariance.at[0, 1].add(0.5)
    ),
    "evidence": lambda f: _posterior(f, log_evidence=jnp.asarray(jnp.inf)),
    "support": lambda f: _gp(f, "support", f.exact.gp.support[:, :1]),
    "kernel": lambda f: _gp(f, "kernel", RBF(1.0, jnp.ones(3))),
    "rows": lambda f: replace(f, exact=replace(f.exact, rows=f.exact.rows[:, 1:])),
    "link": lambda f: replace(f, exact=replace(f.exact, likelihood=BernoulliLogit())),
    "inference": lambda f: replace(f, inference="vb"),
    "plain": lambda f: replace(f, inference="ep"),
    "outputs": lambda f: replace(f, num_outputs=2),
    "calibration": lambda f: replace(f, calibration=None),
    "decisions": lambda f: replace(
        f, calibration=replace(f.calibration, decisions=np.zeros(0, bool))
    ),
    "rounds": lambda f: replace(f, calibration=replace(f.calibration, rounds=-1.0)),
    "names": lambda f: replace(f, names=("a",)),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_parts_that_do_not_belong_together_are_refused(fitted, name):
    check_exact(fitted)
    with pytest.raises(DirectGPError):
        check_exact(MUTATIONS[name](fitted))
