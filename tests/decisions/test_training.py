"""Training for a cost: the smoothed cost is right, and realised cost falls where it can."""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import ClosedForm, Direct, GaussHermite, Gibbs, Linear, MonteCarlo, fit
from directgp.decisions import (
    BinaryCost,
    CostMatrix,
    FunctionCost,
    IntervalCost,
    NewsvendorCost,
    RejectCost,
    decide,
    fit_for_cost,
    training,
)
from directgp.fitting.specs import Deep, Sparse, Training
from directgp.likelihoods import BernoulliProbit, Categorical, Gaussian
from directgp.losses import CostScore, Integrals
from directgp.losses.cost import smoothed_cost
from directgp.marginals import Marginals
from directgp.training import Trained
from tests.flat import flat


def marginals(rng, rows=6, latents=1):
    return Marginals(
        jnp.asarray(rng.normal(size=(1, rows, latents))),
        jnp.asarray(rng.random((1, rows, latents))),
        jnp.zeros(1),
    )


@eqx.filter_jit
def evaluate(loss, likelihood, y, q, how, key=None):
    """In one program."""
    return loss(likelihood, Integrals(y, q, how, key))


def test_a_cold_direct_cost_is_the_realised_cost(rng):
    q, y = marginals(rng), jnp.asarray(rng.integers(0, 2, 6) * 1.0)
    cost = BinaryCost(1, 5)
    score = CostScore(cost.for_training(), 1e-7)
    cold = evaluate(Direct(score), BernoulliProbit(), y, q, ClosedForm())
    predictive = BernoulliProbit().predictive(
        np.asarray(q.mean), np.asarray(q.variance), np.zeros(1)
    )
    np.testing.assert_allclose(cold, decide(predictive, cost).realised(np.asarray(y)), atol=1e-6)
    warm = Direct(CostScore(cost.for_training(), 1e6))
    hot = evaluate(warm, BernoulliProbit(), y, q, ClosedForm())
    np.testing.assert_allclose(hot, np.where(y == 1, 2.5, 0.5), rtol=1e-4)  # a coin is tossed
    honest = Direct(CostScore(cost.for_training(), 1e-7, log_weight=3.0))
    both = evaluate(honest, BernoulliProbit(), y, q, ClosedForm())
    log_loss = -predictive.log_prob(np.asarray(y))
    np.testing.assert_allclose(both, np.asarray(cold) + 3.0 * log_loss, atol=1e-6)


def test_several_classes_and_a_reject_option(rng):
    q, y = marginals(rng, latents=3), jnp.asarray(rng.integers(0, 3, 6) * 1.0)
    cost = RejectCost(CostMatrix([[0, 1, 1], [1, 0, 1], [9, 9, 0]]), 0.5)
    loss = Direct(CostScore(cost.for_training(), 0.1))
    how = MonteCarlo(4000)
    given = evaluate(loss, Categorical(3), y, q, how, jax.random.key(0))
    predictive = Categorical(3).predictive(np.asarray(q.mean), np.asarray(q.variance), np.zeros(1))
    by_hand = smoothed_cost(
        jnp.asarray(predictive.log_probabilities),
        y,
        jnp.asarray(cost.for_training()),
        jnp.asarray(0.1),
    )
    np.testing.assert_allclose(given, by_hand, atol=0.25)
    assert np.all(np.asarray(given) >= 0) and np.all(np.asarray(given) <= 9)


def test_without_variance_gibbs_is_direct_and_gradients_are_right(rng):
    y = jnp.asarray(rng.integers(0, 2, 4) * 1.0)
    mean = jnp.asarray(rng.normal(size=(1, 4, 1)))
    score = CostScore(BinaryCost(1, 3).for_training(), 0.3)
    q = Marginals(mean, jnp.full((1, 4, 1), 1e-14), jnp.zeros(1))
    how = GaussHermite(20)
    direct = evaluate(Direct(score), BernoulliProbit(), y, q, how)
    gibbs = evaluate(Gibbs(score), BernoulliProbit(), y, q, how)
    np.testing.assert_allclose(direct, gibbs, atol=1e-6)

    @jax.jit
    def total(mean):
        at = Marginals(mean, jnp.ones((1, 4, 1)), jnp.zeros(1))
        return jnp.sum(Direct(score)(BernoulliProbit(), Integrals(y, at, ClosedForm(), None)))

    step = 1e-5 * jnp.ones_like(mean)
    slope = (total(mean + step) - total(mean - step)) / 2e-5
    np.testing.assert_allclose(np.sum(jax.jit(jax.grad(total))(mean)), slope, rtol=1e-5)


def misspecified(seed, rows=400):
    """Class 1 lies in the middle of x₁, which a linear model can only cut once."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-3, 3, rows), rng.normal(size=rows)])
    odds = np.where(X[:, 0] > 1.5, 0.5, np.where(X[:, 0] > -1.5, 0.25, 0.02))
    return X, (rng.random(rows) < odds) * 1.0


def test_it_lowers_realised_cost_where_the_model_is_wrong():
    cost = BinaryCost(false_positive=1, false_negative=5)
    X, y = misspecified(0)
    X_test, y_test = misspecified(1, 4000)
    options = {"kernel": Linear(np.ones(2)), "mean": "constant", "num_inducing": 10}
    plain = fit(X, y, **flat(likelihood="bernoulli", beta=1.0, max_steps=150, **options))
    trained = fit_for_cost(X, y, cost, steps=200, model=plain)
    before = decide(plain.predict(X_test), cost).realised(y_test)
    after = decide(trained.predict(X_test), cost).realised(y_test)
    change = after - before
    assert change.mean() < -2 * change.std() / np.sqrt(len(change))


@pytest.mark.slow
def test_deep_classifiers_are_trained_for_a_cost():
    """A deep sigma point process of two layers that is too stiff for the data, as above."""
    cost = BinaryCost(false_positive=1, false_negative=5)
    X, y = misspecified(0, 800)
    X_test, y_test = misspecified(1, 20_000)
    plain = fit(
        X,
        y,
        likelihood="bernoulli",
        beta=1.0,
        model=Deep(
            mean="constant",
            kernel=(Linear(np.ones(2)), Linear(np.ones(1))),
            width=1,
            num_inducing=6,
            num_sites=3,
        ),
        training=Training(max_steps=100),
    )
    held = misspecified(2, 800)
    trained = fit_for_cost(X, y, cost, validation=held, log_weight=1.0, steps=300, model=plain)
    before = decide(plain.predict(X_test), cost).realised(y_test)
    after = decide(trained.predict(X_test), cost).realised(y_test)
    change = after - before
    assert len(trained.gp.model.posteriors) == 2 and trained.reason.startswith("annealed")
    assert change.mean() < -2 * change.std() / np.sqrt(len(change))


def test_costs_of_numbers_are_trained_by_the_score_they_are():
    """A cost is its score times a constant, so the action it calls for is what is trained."""
    y, a = np.array([1.0, 4.0]), np.array([2.0, 2.0])
    level = NewsvendorCost(under=4, over=1).score().levels[0]
    pinball = np.maximum(level * (y - a), (level - 1) * (y - a))
    np.testing.assert_allclose(NewsvendorCost(4, 1).realised(y, a), 5 * pinball)
    ends, interval = np.array([[0.0, 3.0], [0.0, 3.0]]), IntervalCost(width=1, miss=20)
    both = sum(
        np.maximum(level * (y - end), (level - 1) * (y - end))
        for level, end in zip(interval.score().levels, ends.T, strict=True)
    )
    np.testing.assert_allclose(interval.realised(y, ends), 20 * both)


@pytest.fixture(scope="module")
def small():
    """60 rows and a first fit of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0) * 1.0
    with jax.enable_x64(True):
        return (
            X,
            y,
            fit(
                X,
                y,
                likelihood="bernoulli",
                beta=1.0,
                model=Sparse(num_inducing=5),
                training=Training(max_steps=50),
            ),
        )


def test_the_first_fit_is_kept_where_nothing_is_better_and_that_is_said(monkeypatch, small):
    X, y, plain = small
    scores = iter([1.0, 2.0, 2.0, 2.0, 1.0, 0.5, 0.2, 0.4])  # of the start and of three stages
    monkeypatch.setattr(training, "Scorer", lambda *_: lambda gp: next(scores))
    kept = fit_for_cost(X, y, BinaryCost(1, 5), steps=6, model=plain)
    assert kept.gp is plain.gp and kept.objective is plain.objective
    assert kept.reason == "the first fit did best on held-out rows and was kept"
    better = fit_for_cost(X, y, BinaryCost(1, 5), steps=6, model=plain)
    assert better.gp is not plain.gp
    assert better.reason == "annealed; temperature 0.2 did best on held-out rows"


def test_a_time_budget_covers_the_annealing(monkeypatch, rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0) * 1.0
    plain = fit(
        X,
        y,
        likelihood="bernoulli",
        beta=1.0,
        model=Sparse(num_inducing=5),
        training=Training(max_steps=50),
    )
    monkeypatch.setattr(training, "Scorer", lambda *_: lambda gp: 1.0)
    spent = fit_for_cost(
        X, y, BinaryCost(1, 5), steps=6, model=plain, training=Training(time_budget=1e-6)
    )
    assert spent.gp is plain.gp and spent.history == plain.history
    assert spent.reason == "the time budget left no time to train for the cost"
    turns = []

    def record(gp, objective, data, settings, *, beta):
        turns.append(settings.deadline - time.monotonic())
        return Trained(gp, "done", {"step": [2]})

    monkeypatch.setattr(training, "run", record)
    rested = fit_for_cost(
        X, y, BinaryCost(1, 5), steps=6, model=plain, training=Training(time_budget=600)
    )
    np.testing.assert_allclose(turns, [200.0, 300.0, 600.0], atol=30.0)
    assert rested.history == {"step": [2, 4, 6]} and rested.seconds > plain.seconds
    with pytest.raises(ValueError, match="time_budget must be a number of seconds above 0, got 0"):
        fit_for_cost(X, y, BinaryCost(1, 5), model=plain, training=Training(time_budget=0))
    with pytest.raises(ValueError, match="learning_rate must be at most 1, got 7"):
        fit_for_cost(X, y, BinaryCost(1, 5), model=plain, training=Training(learning_rate=7.0))


def test_held_out_rows_may_be_of_one_class(small):
    X, y, plain = small
    held = np.random.default_rng(0).permutation(60)[:12]
    y = np.where(np.isin(np.arange(60), held), 0.0, y)
    trained = fit_for_cost(X, y, BinaryCost(1, 5), steps=6, model=plain)
    assert np.isfinite(trained.history["objective"]).all()


def test_weights_count_on_held_out_rows_and_those_of_none_nowhere(monkeypatch, small):
    X, y, _ = small
    weight = np.where(np.arange(60) % 3, 1.0 + np.arange(60), 0.0)

    def record(X, y, **options):
        raise LookupError(X, y, options)

    monkeypatch.setattr(training, "fit", record)
    with pytest.raises(LookupError) as caught:
        fit_for_cost(X, y, BinaryCost(1, 5), sample_weight=weight)
    kept_X, _, options = caught.value.args
    held = options["validation"]
    assert len(held.y) == 8 and len(kept_X) == 32
    number = np.concatenate([options["sample_weight"], held.weight]).astype(int) - 1
    np.testing.assert_array_equal(np.concatenate([kept_X, held.X]), X[number])
    assert np.array_equal(np.sort(number), np.flatnonzero(weight))


def test_classes_without_a_price_are_seen_before_anything_is_trained(rng):
    X, y = rng.normal(size=(30, 1)), np.arange(30) % 3
    with pytest.raises(ValueError, match="the cost has 2 classes but y has 3"):
        fit_for_cost(X, y, BinaryCost(1, 5), likelihood="categorical")
    with pytest.raises(ValueError, match="one action costs 0 on all training rows"):
        fit_for_cost(X, y, CostMatrix([[0, 1, 1], [0, 1, 1], [0, 1, 1]]))


def test_costs_of_numbers_pass_on_what_they_can(rng):
    X = rng.normal(size=(40, 1))
    y, cost = X[:, 0] + 0.1 * rng.normal(size=40), NewsvendorCost(under=4, over=1)
    quick = {"num_inducing": 5, "max_steps": 20}
    held = fit_for_cost(X, y, cost, **flat(validation=(X[:9], y[:9]), **quick)).held_out
    assert held is not None and held.shape == (9,)
    assert fit_for_cost(X, y, cost, **flat(**quick)).held_out is None
    for option in ({"steps": 10}, {"log_weight": 1.0}):
        with pytest.raises(ValueError, match=f"{next(iter(option))} is for costs of classes"):
            fit_for_cost(X, y, cost, **flat(**quick, **option))


def test_bad_requests_are_refused(rng):
    X, y = rng.normal(size=(20, 1)), rng.integers(0, 2, 20)
    with pytest.raises(ValueError, match="no training for FunctionCost"):
        fit_for_cost(X, y, FunctionCost(np.hypot, lower=0, upper=1))
    with pytest.raises(ValueError, match="cost must be a Cost"):
        fit_for_cost(X, y, "dear")
    with pytest.raises(ValueError, match="log_weight must be ≥ 0"):
        CostScore([[0, 1], [1, 0]], 1.0, -1.0)
    with pytest.raises(ValueError, match="one cost for all rows"):
        fit_for_cost(X, y, BinaryCost(1.0, np.ones(20)))
    with pytest.raises(ValueError, match="share between 0 and 1"):
        fit_for_cost(X, y, BinaryCost(1, 2), validation=2.0)
    with pytest.raises(ValueError, match="temperature must be > 0"):
        CostScore([[0, 1], [1, 0]], 0.0)
    with pytest.raises(ValueError, match="classes × actions"):
        CostScore([0, 1], 1.0)
    for bad in (np.nan, -1.0, np.inf):
        with pytest.raises(ValueError, match=f"finite and ≥ 0, got {bad:g}"):
            CostScore([[0, 1], [bad, 0]], 1.0)
    three = Direct(CostScore(np.ones((3, 3)), 1.0))
    integrals = Integrals(jnp.zeros(6), marginals(rng), ClosedForm(), None)
    with pytest.raises(ValueError, match="for 3 classes, but BernoulliProbit has 2"):
        three(BernoulliProbit(), integrals)
    with pytest.raises(ValueError, match="for 3 classes, but Gaussian has none"):
        Gibbs(three.score)(Gaussian(), integrals)
