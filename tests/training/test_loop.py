"""The training loop: one compilation, exact repetition, roll-backs, and its ways to end."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directgp.objective import Batch, Parts
from directgp.training import adam, loop
from directgp.training.loop import GP, Guard, Settings, TrainingWarning, run, start

FULL = Settings(steps=60, batch_size=None, chunk=10, tolerance=0.0)
MINI = Settings(steps=60, batch_size=8, chunk=10, tolerance=0.0)


def train(ridge, settings=FULL, **options):
    options = {"beta": 1.0} | options
    return run(ridge.gp, ridge.objective, ridge.data, settings, **options)


def scalar_problem(function, start=0.0):
    """Minimise a function of one number with the loop; the rows do not matter."""

    def objective(model, likelihood, batch, *, beta, num_data, key):
        value = num_data * function(model)
        return value, Parts(value, jnp.zeros(()))

    return (
        GP(jnp.asarray(start), None),
        objective,
        Batch(jnp.ones((2, 1)), jnp.ones(2), jnp.ones(2)),
    )


# ---------------------------------------------------------------- compilation


@pytest.mark.parametrize("settings", [FULL, MINI], ids=["full", "mini"])
def test_a_chunk_is_traced_once_for_all_fits_of_one_shape(ridge, settings):
    traces = []

    def counted(*args, **kwargs):
        traces.append(1)
        return ridge.objective(*args, **kwargs)

    after = []
    run(ridge.gp, counted, ridge.data, settings, beta=1.0,
        after_chunk=lambda _: after.append(len(traces)))  # fmt: skip
    assert len(after) == 6 and len(set(after)) == 1
    other = jax.tree.map(lambda column: 2.0 * column, ridge.data)
    run(ridge.gp, counted, ridge.data, replace(settings, seed=5, learning_rate=0.1), beta=7.0)
    run(ridge.gp, counted, other, replace(settings, steps=200), beta=0.0)
    assert len(traces) == after[0]


# ---------------------------------------------------------------- it minimises, repeatably


def test_it_finds_the_minimum(ridge):
    trained = train(ridge, replace(FULL, steps=600, chunk=50), beta=3.0)
    np.testing.assert_allclose(trained.gp.model, ridge.solution(3.0), atol=1e-4)


def test_one_beta_for_each_layer_may_be_given(ridge):
    def objective(model, likelihood, batch, *, beta, num_data, key):
        return ridge.objective(model, likelihood, batch, beta=beta[0], num_data=num_data, key=key)

    layered = run(ridge.gp, objective, ridge.data, FULL, beta=np.array([2.0, 9.0]))
    np.testing.assert_array_equal(layered.gp.model, train(ridge, beta=2.0).gp.model)


def test_history_has_both_terms_of_every_chunk(ridge):
    history = train(ridge).history
    assert history["step"] == [10, 20, 30, 40, 50, 60]
    np.testing.assert_allclose(
        history["objective"], np.add(history["risk"], history["penalty"]), rtol=1e-12
    )


def test_steps_are_rounded_up_to_whole_chunks(ridge):
    assert train(ridge, replace(FULL, steps=11)).history["step"] == [10, 20]


@pytest.mark.parametrize("settings", [FULL, MINI], ids=["full", "mini"])
def test_the_same_seed_gives_the_same_bits(ridge, settings):
    first, second = train(ridge, settings), train(ridge, settings)
    np.testing.assert_array_equal(first.gp.model, second.gp.model)
    assert first.history == second.history


def test_another_seed_gives_other_batches(ridge):
    first, second = train(ridge, MINI), train(ridge, replace(MINI, seed=1))
    assert not np.array_equal(first.gp.model, second.gp.model)


def test_steps_see_different_random_keys(ridge):
    def objective(model, likelihood, batch, *, beta, num_data, key):
        value = num_data * jax.random.uniform(key) + 0.0 * jnp.sum(model)
        return value, Parts(value, jnp.zeros(()))

    settings = replace(FULL, chunk=1, steps=20)
    values = run(ridge.gp, objective, ridge.data, settings, beta=1.0).history["objective"]
    assert len(set(values)) == 20


@given(
    num_rows=st.integers(2, 60), batch_size=st.integers(1, 59), cut=st.integers(1, 29),
    seed=st.integers(0, 5),
)  # fmt: skip
def test_epochs_are_shuffles_however_they_are_cut_into_chunks(num_rows, batch_size, cut, seed):
    if batch_size >= num_rows:
        assert loop._rows_of_steps(Settings(9, batch_size), num_rows, 0, 9) is None
        return
    settings = Settings(30, batch_size, seed=seed)
    whole = loop._rows_of_steps(settings, num_rows, 0, 30)
    parts = [loop._rows_of_steps(settings, num_rows, *span) for span in ((0, cut), (cut, 30 - cut))]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    per_epoch = num_rows // batch_size
    for epoch in range(30 // per_epoch):
        rows = whole[epoch * per_epoch : (epoch + 1) * per_epoch].ravel()
        assert len(set(rows.tolist())) == len(rows) == per_epoch * batch_size
        assert set(rows.tolist()) <= set(range(num_rows))


# ---------------------------------------------------------------- interrupt and resume


@pytest.mark.parametrize("settings", [FULL, MINI], ids=["full", "mini"])
def test_a_run_resumed_from_any_state_ends_with_the_same_bits(ridge, settings):
    states = []
    whole = train(ridge, settings, validation=ridge.validation, after_chunk=states.append)
    for state in states:
        resumed = train(ridge, settings, validation=ridge.validation, state=state)
        np.testing.assert_array_equal(whole.gp.model, resumed.gp.model)
        assert resumed.history == whole.history and resumed.reason == whole.reason


@pytest.mark.parametrize("moment", ["after the chunk", "in the validation"])
def test_an_interrupt_leaves_the_last_state_whole(ridge, moment):
    whole = train(ridge, MINI, validation=ridge.validation)
    states, calls = [], []

    def interrupt():
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt

    def after_chunk(state):
        states.append(state)
        if moment == "after the chunk":
            interrupt()

    def validation(gp):
        if moment == "in the validation":
            interrupt()
        return ridge.validation(gp)

    with pytest.raises(KeyboardInterrupt):
        train(ridge, MINI, validation=validation, after_chunk=after_chunk)
    resumed = train(ridge, MINI, validation=ridge.validation, state=states[-1])
    np.testing.assert_array_equal(whole.gp.model, resumed.gp.model)
    assert resumed.history == whole.history


# ---------------------------------------------------------------- non-finite values


def forbidden_beyond(limit):
    return lambda w: jnp.where(jnp.abs(w) > limit, jnp.nan, (w - 1.0) ** 2)


@pytest.mark.parametrize("chunk", [1, 7, 20])
def test_a_step_too_large_is_rolled_back_and_retried_with_a_lower_rate(chunk):
    gp, objective, data = scalar_problem(forbidden_beyond(1.01))
    states = []
    settings = Settings(200, None, learning_rate=0.8, chunk=chunk, tolerance=0.0)
    trained = run(gp, objective, data, settings, beta=1.0, after_chunk=states.append)
    failures = states[-1].failures
    assert 0 < failures < loop._MOST_FAILURES
    assert states[-1].rate_factor == pytest.approx(0.3**failures)
    assert float(trained.gp.model) == pytest.approx(1.0, abs=0.02)
    assert trained.reason == "all steps done" and np.isfinite(trained.history["objective"]).all()


def test_a_non_finite_gradient_or_moment_counts_too():
    gp, objective, data = scalar_problem(lambda w: jnp.sqrt(jnp.abs(w)))  # infinite slope at 0
    with pytest.warns(TrainingWarning):
        trained = run(gp, objective, data, FULL, beta=1.0)
    assert float(trained.gp.model) == 0.0


@pytest.mark.parametrize("cliff", [0.0, 0.05], ids=["from the start", "later"])
@pytest.mark.parametrize("chunk", [1, 10])
def test_repeated_failure_ends_with_the_last_good_parameters_and_one_warning(cliff, chunk):
    def function(w):  # falls ever faster towards a cliff that it must not cross
        return jnp.where(w >= cliff, jnp.nan, -1e3 * w)

    start = -1e-9 if cliff == 0.0 else 0.0
    gp, objective, data = scalar_problem(function, start)
    settings = Settings(5000, None, learning_rate=0.05, chunk=chunk, tolerance=0.0, decay=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trained = run(gp, objective, data, settings, beta=1.0)
    assert [warning.category for warning in caught] == [TrainingWarning]
    message = str(caught[0].message)
    assert "\n" not in message and "last good parameters" in message
    assert ("nothing was learned" in message) == ("at step 0;" in message)
    assert trained.reason == "repeated non-finite values"
    assert np.isfinite(function(trained.gp.model))


def test_a_failure_in_low_precision_goes_on_in_high_precision(ridge):
    def overflowing(model, likelihood, batch, **options):
        value, parts = ridge.objective(model, likelihood, batch, **options)
        return jnp.where(jnp.abs(model[0]) > 0.05, jnp.nan, value), parts

    states = []
    guard = Guard(lambda gp, objective: True, (ridge.objective,))
    run(ridge.gp, overflowing, ridge.data, FULL, beta=1.0, guard=guard, after_chunk=states.append)
    assert [state.failures for state in states] == [1] * 7
    assert all(state.fallback == 1 for state in states)


def test_the_guard_is_asked_until_it_objects(ridge):
    asked, states = [], []

    def is_safe(gp, objective):
        asked.append(objective)
        return len(asked) < 3 or objective is halfway

    def wrong(model, likelihood, batch, **options):
        value, parts = ridge.objective(model, likelihood, batch, **options)
        return value + 1e3, parts

    def halfway(*args, **options):
        return wrong(*args, **options)

    guard = Guard(is_safe, (halfway, ridge.objective))
    trained = train(ridge, guard=guard, after_chunk=states.append)
    assert asked == [ridge.objective] * 3 + [halfway] * 4
    assert [state.fallback for state in states] == [0, 0, 1, 1, 1, 1]
    assert [value > 20 for value in trained.history["objective"]] == [False] * 2 + [True] * 4


def test_what_is_nowhere_safe_goes_on_with_the_last(ridge):
    states = []
    guard = Guard(lambda gp, objective: False, (ridge.objective, ridge.objective))
    train(ridge, guard=guard, after_chunk=states.append)
    assert {state.fallback for state in states} == {2}


# ---------------------------------------------------------------- ways to end


@pytest.mark.parametrize("chunk", [10, 50, 80])
def test_a_full_batch_run_ends_when_the_objective_stands_still(ridge, chunk):
    settings = Settings(5000, None, chunk=chunk, decay=False)
    states = []
    trained = train(ridge, settings, after_chunk=states.append)
    assert trained.reason == "converged" and trained.history["step"][-1] < 1000
    assert len(states[-1].recent) == 50 and np.ptp(states[-1].recent) <= 1e-4
    assert all(np.ptp(state.recent) > 1e-4 for state in states[:-1] if len(state.recent) == 50)


def test_a_mini_batch_run_looks_at_averages_over_chunks():
    gp, objective, data = scalar_problem(lambda w: 0.0 * w)
    data = jax.tree.map(lambda column: jnp.concatenate([column] * 4), data)
    settings = Settings(5000, 4, chunk=5, window=6)
    trained = run(gp, objective, data, settings, beta=1.0)
    assert trained.reason == "converged" and trained.history["step"][-1] == 30


def scripted(values):
    """A validation loss that follows a script and remembers what it was shown."""
    shown, script = [], iter(values)

    def validation(gp):
        shown.append(np.asarray(gp.model))
        return next(script)

    return validation, shown


def test_the_parameters_with_the_best_validation_loss_are_returned(ridge):
    validation, shown = scripted([3.0, 2.0, 1.0, 5.0, 1.0, 1.5])
    trained = train(ridge, validation=validation)
    np.testing.assert_array_equal(trained.gp.model, shown[2])
    assert trained.history["validation"] == [3.0, 2.0, 1.0, 5.0, 1.0, 1.5]
    assert trained.reason == "all steps done"


def test_patience_ends_a_run_whose_validation_loss_rises(ridge):
    validation, shown = scripted([3.0, 1.0, 5.0, 2.0, 2.0, 0.0])
    trained = train(ridge, replace(FULL, patience=3), validation=validation)
    assert trained.reason == "validation loss no longer falls"
    assert len(shown) == 5
    np.testing.assert_array_equal(trained.gp.model, shown[1])


def test_a_validation_loss_that_is_nan_is_never_the_best(ridge):
    validation, shown = scripted([np.nan, 2.0, np.nan, 3.0, np.nan, np.nan])
    np.testing.assert_array_equal(train(ridge, validation=validation).gp.model, shown[1])
    validation, shown = scripted([np.nan] * 6)
    np.testing.assert_array_equal(train(ridge, validation=validation).gp.model, shown[-1])


def test_a_run_starts_with_the_zeros_of_adam(ridge):
    state = start(ridge.gp)
    for ours, theirs in zip(
        jax.tree.leaves(state.moments), jax.tree.leaves(adam.init(state.learned)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
