"""`fit`: bad input, resumption, units, weights, β, and the quality of what comes back.

Compiling takes longer than training here, so most tests share one shape: 120 rows, 2 columns,
10 inducing points.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import directgp
from directgp import fit, fit_collapsed
from directgp.expectations import MonteCarlo
from directgp.fitting.fit import check_together
from directgp.fitting.specs import FixedHyperparameters, Sparse, Training
from directgp.kernels import Linear, Matern52
from directgp.likelihoods import Likelihood, StudentT
from directgp.losses import Direct, LogLoss, Loss, Score
from directgp.parameters import unwrap
from directgp.training import budget, loop, resumable
from directgp.training import precision as training_precision
from directgp.training.folder_lock import is_part_of_lock
from directgp.training.progress import Silent
from tests.flat import flat, flat_model

NOISE = 0.2


def table(n=120, columns=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, columns))
    return X, np.sin(2 * X[:, 0]) + NOISE * rng.normal(size=n)


X, Y = table()
X_NEW, Y_NEW = table(2000, seed=1)
QUICK = {"beta": 1.0, "max_steps": 100, "num_inducing": 10}


def quick(X=X, y=Y, **options):
    return fit(X, y, **flat(**QUICK | options))


@pytest.fixture(scope="module")
def plain():
    with jax.enable_x64(True):
        return quick()


def leaves(fitted):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(fitted.gp, eqx.is_array))]


def assert_same_bits(first, second):
    for one, other in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(one, other)
    one, other = first.predict(X_NEW[:50]), second.predict(X_NEW[:50])
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.variance, other.variance)
    assert first.beta == second.beta and first.beta_curve == second.beta_curve
    assert first.history == second.history


def assert_finite(fitted, X):
    for rows in (X, np.asarray(X, float) + 1e3, np.zeros_like(X, float)):
        predictive = fitted.predict(rows)
        assert np.isfinite(predictive.mean).all() and np.isfinite(predictive.variance).all()
        assert (predictive.variance > 0).all()


# ---------------------------------------------------------------- quality


def test_a_noisy_sine_is_learned_with_honest_intervals():
    predictive = quick(max_steps=200).predict(X_NEW)
    lower, upper = predictive.interval(0.9)
    assert 0.8 <= np.mean((lower < Y_NEW) & (upper > Y_NEW)) <= 0.97
    assert np.sqrt(np.mean((predictive.mean - Y_NEW) ** 2)) < 1.25 * NOISE


def test_beta_is_chosen_well(auto):
    predictive = auto.predict(X_NEW)
    lower, upper = predictive.interval(0.9)
    assert 0.8 <= np.mean((lower < Y_NEW) & (upper > Y_NEW)) <= 0.97
    assert np.sqrt(np.mean((predictive.mean - Y_NEW) ** 2)) < 1.4 * NOISE
    assert auto.beta in auto.beta_curve
    assert sorted(auto.beta_curve) == sorted(directgp.beta_grid(120))


# ---------------------------------------------------------------- one compilation, same bits


class CountedScore(Score):
    """Log loss that counts how often Python runs it, that is, how often it is traced."""

    gibbs_needs = LogLoss.gibbs_needs
    direct_needs = LogLoss.direct_needs

    def gibbs(self, likelihood, integrals):
        return LogLoss().gibbs(likelihood, integrals)

    def direct(self, likelihood, integrals):
        TRACES.append(1)
        return LogLoss().direct(likelihood, integrals)


TRACES: list[int] = []
AUTO = {"beta": "auto", "loss": Direct(CountedScore())}


@pytest.fixture(scope="module")
def auto():
    with jax.enable_x64(True):
        return quick(**AUTO)


def test_nothing_is_traced_or_compiled_for_a_second_fit_of_the_same_shape(auto):
    compiled = []

    def listen(event, duration, **_):
        if "compile" in event:
            compiled.append(event)

    auto.predict(X)
    before = len(TRACES)
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        quick(X[::-1], Y + 1.0, **(AUTO | {"seed": 7})).predict(X_NEW)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert len(TRACES) == before > 0
    assert not compiled


def test_the_same_seed_gives_the_same_bits(plain):
    assert_same_bits(plain, quick())


def test_another_seed_gives_another_fit(plain):
    assert not np.array_equal(plain.predict(X).mean, quick(seed=1).predict(X).mean)


# ---------------------------------------------------------------- interrupt and resume

MINI = {"batch_size": 40, "epochs": 20}
RACE = AUTO | {"beta_grid": [0.1, 1.0, 10.0]}
"""Fewer values of β than by default: each is trained on every fold."""


class Interrupter:
    """Interrupts `fit` after so many chunks; counts them otherwise."""

    def __init__(self, monkeypatch):
        self.count, self.at = 0, None
        monkeypatch.setattr(Silent, "update", lambda _, state: self.chunk())

    def chunk(self):
        self.count += 1
        if self.count == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "options,moments",
    [({}, [1]), (MINI, [2]), (RACE, [1, 30, -1]), (RACE | MINI, [17, -2])],
    ids=["full", "mini-batch", "full, auto", "mini-batch, auto"],
)
def test_an_interrupted_fit_resumes_with_the_same_bits(options, moments, tmp_path, monkeypatch):
    chunks = Interrupter(monkeypatch)
    whole = quick(**options)
    total, folder = chunks.count, tmp_path / "run"
    for moment in moments:
        chunks.at = moment % total
        chunks.count = 0
        with pytest.raises(KeyboardInterrupt):
            quick(**options, checkpoint=folder)
        assert any(folder.iterdir())
        chunks.count, chunks.at = 0, None
        resumed = quick(**options, checkpoint=folder)
        assert chunks.count == total - moment % total, "only what was missing is trained"
        assert_same_bits(whole, resumed)
        assert not folder.exists()


def test_a_fit_goes_down_the_ladder_of_precisions_and_resumes_where_it_stood(tmp_path, monkeypatch):
    """In the fast form for a chunk, in the mixed one for another, then in float64."""
    monkeypatch.setattr(budget, "_LONG", 0.0)
    monkeypatch.setattr(training_precision, "_SMALLEST_M", {True: 10, False: 10})
    used, objections = [], {"fast": None, "mixed": None}

    def size(gp):
        return float(np.abs(np.asarray(gp.model.posterior.mean)).sum())

    def is_exact_enough(gp, data, precision):
        # Each form is objected to where it was first asked about after a chunk.
        if used and used[-1] == precision and objections[precision] is None:
            objections[precision] = size(gp)
        return size(gp) != objections[precision]

    def run_chunk(descent, *args, **options):
        used.append(descent.objective.precision)
        return original(descent, *args, **options)

    original = loop.run_chunk
    monkeypatch.setattr(loop, "run_chunk", run_chunk)
    monkeypatch.setattr("directgp.fitting.workbench.is_exact_enough", is_exact_enough)
    chunks = Interrupter(monkeypatch)
    whole = quick(max_steps=200)
    assert used == ["fast", "mixed", "float64", "float64"]
    for moment in (1, 2, 3):
        used.clear()
        chunks.count, chunks.at = 0, moment
        with pytest.raises(KeyboardInterrupt):
            quick(max_steps=200, checkpoint=tmp_path / "run")
        chunks.at = None
        assert_same_bits(whole, quick(max_steps=200, checkpoint=tmp_path / "run"))
        assert used == ["fast", "mixed", "float64", "float64"]


def test_a_kept_checkpoint_gives_the_same_fit_again_without_training(tmp_path, monkeypatch):
    chunks = Interrupter(monkeypatch)
    first = quick(**MINI, checkpoint=tmp_path, keep_checkpoint=True)
    total = chunks.count
    assert_same_bits(first, quick(**MINI, checkpoint=tmp_path))
    assert chunks.count == total > 0 and not tmp_path.exists()


@pytest.mark.slow
def test_a_fit_killed_while_writing_resumes_with_the_same_bits(tmp_path):
    script = f"""
        import os, signal
        import numpy as np
        from tests.checked_types import check_types
        from tests.programs import compile_hastily
        check_types(["directgp"])  # as in conftest.py
        compile_hastily()
        from directgp import fit
        from directgp.fitting import workbench
        from directgp.training.resumable import Stages

        class Eager(Stages):
            def __init__(self, *args, **options):
                super().__init__(*args, **options, every_seconds=0.0)

        workbench.Stages = Eager
        move, moves = os.replace, []

        def kill(source, target):
            moves.append(target)
            if len(moves) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            move(source, target)

        os.replace = kill
        data = np.load({str(tmp_path / "data.npz")!r}, allow_pickle=False)
        from directgp.fitting.flat_options import specs_from_options
        options = {QUICK | MINI | {"checkpoint": str(tmp_path / "run")}!r}
        fit(data["X"], data["y"], **specs_from_options(options))
    """
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    folders = Path(directgp.__file__).parents[1], Path(__file__).parents[2]
    paths = os.pathsep.join(map(str, folders))
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=environment)
    assert killed.returncode == -signal.SIGKILL
    left = [file for file in (tmp_path / "run").iterdir() if not is_part_of_lock(file)]
    partial, whole = sorted(file.name for file in left)
    assert whole == "stage-000-training.safetensors"
    assert partial.startswith(f".{whole}.") and partial.endswith(".partial")
    assert_same_bits(quick(**MINI), quick(**MINI, checkpoint=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "changes",
    [{"y": Y + 0.01 * X[:, 1]}, {"seed": 1}, {"beta": 2.0}, {"learning_rate": 0.01},
     {"kernel": Matern52(lengthscale=[1.0, 1.1])}, {"validation": (X_NEW[:12], Y_NEW[:12])}],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_a_checkpoint_of_another_fit_is_refused(changes, tmp_path, monkeypatch):
    same = {"kernel": Matern52(lengthscale=[1.0, 1.0])}
    if "validation" in changes:
        same["validation"] = (X_NEW[:12], Y_NEW[:12] + 0.1)
    chunks = Interrupter(monkeypatch)
    chunks.at = 1
    with pytest.raises(KeyboardInterrupt):
        quick(**same, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="other data or settings"):
        quick(**(same | changes), checkpoint=tmp_path)


# ---------------------------------------------------------------- time budget


def test_a_resumed_fit_keeps_the_schedule_of_its_budget(tmp_path, monkeypatch):
    """150 of 400 steps can be afforded; only the first call measures that."""
    options = {"max_steps": 400, "time_budget": 1000.0}
    chunks = Interrupter(monkeypatch)
    monkeypatch.setattr(budget, "seconds_a_step", lambda *_: 900.0 / 150.9)
    whole = quick(**options)
    assert whole.history["step"] == [50, 100, 150]
    chunks.count, chunks.at = 0, 2
    with pytest.raises(KeyboardInterrupt):
        quick(**options, checkpoint=tmp_path / "run")
    monkeypatch.setattr(budget, "seconds_a_step", None)
    chunks.count, chunks.at = 0, None
    assert_same_bits(whole, quick(**options, checkpoint=tmp_path / "run"))
    assert chunks.count == 1 and not (tmp_path / "run").exists()


def test_steps_that_are_timed_are_not_part_of_the_fit(tmp_path, monkeypatch):
    chunks = Interrupter(monkeypatch)
    chunks.at = 2
    with pytest.raises(KeyboardInterrupt):
        quick(time_budget=100.0, checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    chunks.count, chunks.at = 0, None
    assert_same_bits(quick(), quick(time_budget=100.0))
    assert chunks.count == 2 + 4


def test_the_budget_is_also_for_the_elbo_that_comes_first(monkeypatch):
    seen = []
    monkeypatch.setattr(budget, "seconds_a_step", lambda *_: 4.46)
    monkeypatch.setattr(Silent, "stage", lambda _, *stage: seen.append(stage))
    run = resumable.run

    def timed(*given, **options):
        seen.append(given[3].deadline - time.monotonic())
        return run(*given, **options)

    monkeypatch.setattr(resumable, "run", timed)
    fitted = quick(hyperparameters="from-elbo", max_steps=400, time_budget=1000.0)
    assert fitted.history["step"] == [50, 100]
    assert seen == [
        ("ELBO", 100), pytest.approx(500.0, abs=60.0), ("training", 100),
        pytest.approx(1000.0, abs=60.0),
    ]  # fmt: skip


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "bad_X,bad_y",
    [
        (np.where(X > 1.9, np.nan, X), Y),
        (np.where(X > 1.9, np.inf, X), Y),
        (X, np.where(Y > 1, np.nan, Y)),
        (X, np.where(Y > 1, -np.inf, Y)),
        (X[:, 0], Y),
        (X[None], Y),
        (X, Y[:-1]),
        (X, np.stack([Y, Y], axis=1)),
        (X[:, :0], Y),
        (X[:0], Y[:0]),
        (X[:1], Y[:1]),
        (np.full(X.shape, "blue"), Y),
        (X, ["blue"] * len(Y)),
        (X + 1j, Y),
        (X, 1e200 * Y),
        (X, 1e-200 * Y),
    ],
)
def test_useless_input_gives_one_clear_line(bad_X, bad_y):
    with pytest.raises(ValueError) as caught:
        quick(bad_X, bad_y)
    assert "\n" not in str(caught.value)


def test_prediction_checks_its_input_too(plain):
    for bad in (X[:, :1], X[0], np.where(X > 1.9, np.nan, X), [["a", "b"]]):
        with pytest.raises(ValueError) as caught:
            plain.predict(bad)
        assert "\n" not in str(caught.value)
    assert len(plain.predict(X[:0])) == 0


def with_outlier(values, size):
    values = values.copy()
    values[3] = size * values.std()
    return values


@pytest.mark.parametrize(
    "odd_X,odd_y",
    [
        (X, np.full(120, 3.0)),
        (X, np.zeros(120)),
        (X, np.full(120, 1e100)),
        (X, with_outlier(Y, 1e6)),
        (with_outlier(X, 1e6), Y),
        (np.repeat(X[:60], 2, axis=0), np.repeat(Y[:60], 2)),
        (X * [1.0, 0.0] + [0.0, 7.0], Y),
        (X * [1.0, 0.0] + [0.0, 1e300], Y),
        (np.round(X * 1000).astype(int), np.round(Y * 10).astype(int)),
        (np.column_stack([X[:, 0], X[:, 1] > 0]).astype(object), Y > 0),
        (X.astype(np.float32), Y.astype(np.float32)),
        (X.tolist(), Y[:, None].tolist()),
        (X + 1e9, Y + 1e9),
    ],
    ids=["constant y", "zero y", "huge constant y", "outlier in y", "outlier in X", "repeated rows",
         "constant column", "huge constant column", "integers", "booleans", "float32", "lists",
         "shifted"],
)  # fmt: skip
def test_odd_tables_give_a_finite_fit(odd_X, odd_y):
    fitted = quick(odd_X, odd_y)
    assert_finite(fitted, np.asarray(odd_X, float))
    spread = max(np.std(np.asarray(odd_y, float)), 0.3)
    mean = fitted.predict(odd_X).mean
    assert np.sqrt(np.mean((mean - np.ravel(np.asarray(odd_y, float))) ** 2)) < 1.01 * spread


@pytest.mark.parametrize("far", [1e3, 1e8, 1e300])
def test_an_outlier_in_an_input_hurts_no_other_row(far):
    odd = X.copy()
    odd[3, 0] = far
    mean = quick(odd, max_steps=200).predict(X_NEW).mean
    assert np.sqrt(np.mean((mean - np.sin(2 * X_NEW[:, 0])) ** 2)) < 0.2


def test_fits_with_a_budget_of_time_are_short(monkeypatch):
    """Whatever the budget, so that a resumed fit may have another."""
    monkeypatch.setattr(budget, "_LONG", 0.0)
    seen, original = [], loop.run_chunk

    def run_chunk(*args, thorough, **options):
        seen.append(thorough)
        return original(*args, thorough=thorough, **options)

    monkeypatch.setattr(loop, "run_chunk", run_chunk)
    quick(max_steps=50)
    assert set(seen) == {True}
    seen.clear()
    quick(max_steps=50, time_budget=100.0)
    assert set(seen) == {False}


def test_inputs_that_differ_by_rounding_errors_are_the_same():
    predictive = quick(1.0 + 1e-15 * X, max_steps=200).predict(1.0 + 1e-15 * X[:5])
    np.testing.assert_allclose(predictive.mean, Y.mean(), atol=0.02)
    np.testing.assert_allclose(predictive.std, Y.std(), rtol=0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"mean_field": True},
        {"mean": "constant"},
        {"expectation": MonteCarlo(10)},
        {"kernel": Matern52(lengthscale=[1.0, 1.0]) + 0.5 * Linear()},
    ],
    ids=["mean-field", "constant mean", "bMC", "sum of kernels"],
)
def test_other_parts_learn_the_sine_too(options):
    predictive = quick(max_steps=300, **options).predict(X_NEW)
    assert np.sqrt(np.mean((predictive.mean - Y_NEW) ** 2)) < 1.35 * NOISE


@pytest.mark.parametrize(
    "n,columns,inducing",
    [(2, 1, 10), (5, 2, 50), (30, 100, 10)],
    ids=["two rows", "more inducing points than rows", "more columns than rows"],
)
def test_tiny_and_wide_tables_give_a_finite_fit(n, columns, inducing):
    X, y = table(n, columns)
    fitted = quick(X, y, num_inducing=inducing, max_steps=50)
    assert_finite(fitted, X)
    assert fitted.gp.model.inducing.shape == (min(n, inducing), columns)


def test_rows_that_are_all_the_same_give_their_mean_and_spread():
    fitted = quick(np.ones((120, 2)), Y, max_steps=200)
    predictive = fitted.predict([[1.0, 1.0]])
    assert predictive.mean[0] == pytest.approx(Y.mean(), abs=0.02)
    assert predictive.std[0] == pytest.approx(Y.std(), rel=0.1)


@pytest.mark.parametrize("value", [1e9, -1e9, 1e-9, 1e250, 1e-250])
def test_the_spread_of_a_constant_target_goes_with_its_size(value):
    usual, other = (
        quick(X, np.full(120, constant)).predict(X_NEW[:50]) for constant in (1.0, value)
    )
    np.testing.assert_allclose(other.mean, value, rtol=1e-3)
    assert (usual.std < 0.3).all() and (other.std > 0).all()
    size = np.clip(abs(value), 1e-139, 1e139)
    np.testing.assert_allclose(other.std, size * usual.std, rtol=1e-6)


def test_too_few_rows_to_choose_beta_is_said_clearly():
    with pytest.raises(ValueError, match="too few to hold out validation rows"):
        fit(X[:2], Y[:2])


@settings(max_examples=10)
@given(
    seed=st.integers(0, 1000),
    scales=st.tuples(*[st.integers(-100, 100)] * 3),
    shifts=st.tuples(*[st.sampled_from([0.0, 1.0, -1e6, 1e12])] * 3),
    outlier=st.sampled_from([1.0, 1e4]),
    repeats=st.sampled_from([1, 2, 6]),
)
@example(seed=0, scales=(-12, 12, 0), shifts=(0.0, 0.0, 0.0), outlier=1.0, repeats=1)
def test_any_finite_table_gives_a_finite_fit(seed, scales, shifts, outlier, repeats):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(120 // repeats, 3))
    values[0] *= outlier
    values = np.repeat((values + shifts) * 10.0 ** np.array(scales, float), repeats, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", directgp.TrainingWarning)
        fitted = quick(values[:, :2], values[:, 2], max_steps=50)
    assert_finite(fitted, values[:, :2])


# ---------------------------------------------------------------- units


def test_units_of_the_inputs_do_not_matter(plain):
    for factor, shift in (([1e-12, 1e12], 0.0), ([1e-100, 1e100], 0.0), (3.0, [5.0, -1e4])):
        other = quick(X * factor + shift)
        one, two = plain.predict(X_NEW), other.predict(X_NEW * factor + shift)
        np.testing.assert_allclose(two.mean, one.mean, atol=1e-5)
        np.testing.assert_allclose(two.std, one.std, rtol=1e-4)


@pytest.mark.parametrize(
    "scale,shift", [(1e-12, 0.0), (1e12, 0.0), (1.0, 1e6), (-3.7, 12.0), (100.0, 1e9)]
)
def test_predictions_come_in_the_units_of_the_targets(plain, scale, shift):
    predictive, other = plain.predict(X_NEW), quick(y=scale * Y + shift).predict(X_NEW)
    tolerance = {"rtol": 1e-6, "atol": 1e-5 * abs(scale)}
    np.testing.assert_allclose(other.mean, scale * predictive.mean + shift, **tolerance)
    np.testing.assert_allclose(other.std, abs(scale) * predictive.std, rtol=1e-4)
    np.testing.assert_allclose(
        other.log_prob(scale * Y_NEW + shift),
        predictive.log_prob(Y_NEW) - np.log(abs(scale)),
        rtol=1e-3, atol=1e-3,
    )  # fmt: skip
    np.testing.assert_allclose(
        other.crps(scale * Y_NEW + shift), abs(scale) * predictive.crps(Y_NEW), rtol=1e-3, atol=0
    )


# ---------------------------------------------------------------- prediction


def test_a_row_is_predicted_the_same_in_any_company(plain):
    rows = np.concatenate([X_NEW, X_NEW[:1000] + 0.5])
    among = plain.predict(rows)
    for row in (0, 777, 2999):
        alone = plain.predict(rows[row : row + 1])
        assert abs(alone.mean[0] - among.mean[row]) <= 1e-12
        assert abs(alone.variance[0] - among.variance[row]) <= 1e-12


@pytest.mark.parametrize("precision", ["float64", "mixed"])
@pytest.mark.parametrize("distance", [1e3, 1e30, 1e200, 1.7e308])
def test_far_from_the_data_the_prior_is_predicted(plain, distance, precision):
    predictive = plain.predict([[distance, 0.0], [0.0, -distance]], precision=precision)
    prior = unwrap(plain.gp.model.kernel.variance) + unwrap(plain.gp.likelihood.noise)
    np.testing.assert_allclose(predictive.mean, Y.mean(), rtol=1e-6)
    np.testing.assert_allclose(predictive.variance, prior * Y.var(), rtol=1e-5)


@pytest.mark.float32_default
def test_the_users_own_precision_setting_does_not_matter(plain):
    assert not jax.config.jax_enable_x64
    np.testing.assert_array_equal(quick().predict(X).variance, plain.predict(X).variance)


# ---------------------------------------------------------------- weights


def test_rows_of_weight_zero_change_nothing(plain):
    junk = np.full((30, 2), 1e6), np.full(30, -1e6)
    weight = np.r_[np.ones(120), np.zeros(30)]
    order = np.argsort(np.r_[np.arange(120), np.linspace(0, 119, 30)], kind="stable")
    weighted = quick(
        np.concatenate([X, junk[0]])[order], np.r_[Y, junk[1]][order], sample_weight=weight[order]
    )
    assert_same_bits(plain, weighted)


def test_rows_of_large_weight_are_followed(plain):
    rows = (X[:, 0] > 0) & (X[:, 1] > 0)
    shifted = np.where(rows & (np.arange(120) % 2 == 0), Y + 2.0, Y)
    weight = np.where(shifted != Y, 20.0, 1.0)
    light, heavy = quick(y=shifted), quick(y=shifted, sample_weight=weight)
    where = X_NEW[(X_NEW > 0.3).all(axis=1)]
    assert heavy.predict(where).mean.mean() > light.predict(where).mean.mean() + 0.3


def test_too_few_weighted_rows_are_refused():
    with pytest.raises(ValueError, match="at least 2 rows need a weight above 0, got 1"):
        quick(sample_weight=np.eye(120)[3])


# ---------------------------------------------------------------- hyperparameters


def hyperparameters(fitted):
    gp = unwrap((fitted.gp.model.kernel, fitted.gp.model.inducing, fitted.gp.likelihood))
    return [np.asarray(leaf) for leaf in jax.tree.leaves(gp)]


@pytest.fixture(scope="module")
def elbo():
    with jax.enable_x64(True):
        return quick(loss="elbo")


def test_hyperparameters_from_elbo_are_those_of_the_elbo(elbo, tmp_path, monkeypatch):
    fixed = quick(hyperparameters="from-elbo")
    for one, other in zip(hyperparameters(elbo), hyperparameters(fixed), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(elbo.predict(X).mean, fixed.predict(X).mean)
    lent = quick(model=FixedHyperparameters(elbo))
    np.testing.assert_array_equal(lent.predict(X).mean, fixed.predict(X).mean)

    chunks = Interrupter(monkeypatch)
    chunks.at = 3  # the second of four, of which two are the ELBO's
    with pytest.raises(KeyboardInterrupt):
        quick(hyperparameters="from-elbo", checkpoint=tmp_path / "run")
    chunks.count, chunks.at = 0, None
    assert_same_bits(fixed, quick(hyperparameters="from-elbo", checkpoint=tmp_path / "run"))
    assert chunks.count == 1, "the ELBO is not fitted again"


def test_a_donor_lends_its_units_too(elbo):
    other_X = 0.5 * table(seed=5)[0]
    other_y = np.sin(2 * other_X[:, 0]) + NOISE * np.random.default_rng(6).normal(size=120)
    lent = quick(other_X, other_y, model=FixedHyperparameters(elbo))
    assert lent.inputs is elbo.inputs and lent.targets is elbo.targets
    for one, other in zip(hyperparameters(elbo), hyperparameters(lent), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.sqrt(np.mean((lent.predict(other_X).mean - other_y) ** 2)) < 1.25 * NOISE
    with pytest.raises(ValueError, match="trained on 2"):
        quick(X[:, :1], model=FixedHyperparameters(elbo))


def test_hyperparameters_are_kept_or_learned_and_never_both(elbo):
    with pytest.raises(ValueError, match=r"'from-elbo' has no effect on FixedHyperparameters"):
        fit(X, Y, beta=1.0, model=FixedHyperparameters(elbo), hyperparameters="from-elbo")


# ---------------------------------------------------------------- validation and β


def test_elbo_and_direct_loss_race_by_the_same_rules(monkeypatch):
    seen = []

    class Stop(Exception):
        pass

    def record(folds, *options):
        seen.append((*options, [fold.judge for fold in folds]))
        raise Stop

    monkeypatch.setattr("directgp.fitting.fit.select_beta", record)
    for loss in ("elbo", "direct-log"):
        with pytest.raises(Stop):
            quick(loss=loss, beta="auto")
    (*elbo, elbo_judges), (*direct, direct_judges) = seen
    assert elbo == direct and len(elbo_judges) == 3
    for one, other in zip(elbo_judges, direct_judges, strict=True):
        assert eqx.tree_equal(one.objective, other.objective)
        assert eqx.tree_equal(one.data, other.data)
        assert isinstance(one.objective.loss, Loss)


def test_a_loss_that_averages_over_f_is_judged_for_student_t_too():
    fitted = quick(likelihood="student-t", loss="gibbs-robust-beta", validation=0.1, max_steps=50)
    assert np.isfinite(fitted.held_out).all() and len(fitted.held_out) == 12


class Shy(StudentT):
    """Can be trained for a robust loss, but not judged by it."""

    outcome_rule = Likelihood.outcome_rule


def test_what_cannot_be_judged_is_not_trained(monkeypatch):
    chunks = Interrupter(monkeypatch)
    with pytest.raises(ValueError, match="needs to integrate over y, which Shy cannot"):
        quick(likelihood=Shy(), loss="gibbs-robust-beta", beta="auto")
    assert chunks.count == 0


def test_the_best_validation_parameters_are_kept(plain):
    fitted = quick(max_steps=200, validation=(X_NEW[:12], Y_NEW[:12]))
    assert len(fitted.history["validation"]) == 4
    nll = -fitted.predict(X_NEW[:12]).log_prob(Y_NEW[:12]).mean()
    best = min(fitted.history["validation"])
    assert nll - np.log(float(fitted.targets.scale[0])) == pytest.approx(best, abs=1e-6)


def test_patience_needs_rows_to_look_at():
    with pytest.raises(ValueError, match="patience needs held-out rows"):
        quick(patience=3)


@pytest.mark.parametrize("validation", [0.0, 1.0, -1.0, 2.5, (X[:, :1], Y), (X, Y[:3])])
def test_a_useless_validation_set_is_refused(validation):
    with pytest.raises(ValueError):
        quick(validation=validation)


# ---------------------------------------------------------------- options and progress


@pytest.mark.parametrize(
    "changes,words",
    [
        ({"beta": -1.0}, "beta must be 'auto' or a number ≥ 0"),
        ({"beta": np.nan}, "beta must be"),
        ({"beta": "best"}, "beta must be"),
        ({"beta": []}, "the grid of beta needs finite values"),
        ({"beta": [1.0, "n"]}, "the grid of beta needs finite values"),
        ({"hyperparameters": "fixed"}, "hyperparameters must be one of joint, from-elbo"),
        ({"model": "sparse"}, "model must be a Sparse, Deep, Decoupled, Exact or .*, got a str"),
        ({"training": {"max_steps": 9}}, "training must be a Training, got a dict"),
        ({"training": Training(patience=3)}, "patience needs held-out rows"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(changes, words):
    # Directly, because in the tests (and only there) the signature of `fit` refuses some itself.
    arguments = {
        "model": Sparse(), "hyperparameters": "joint", "beta": np.float32(1.0), "validation": None,
        "training": Training(),
    }  # fmt: skip
    check_together(**arguments)
    with pytest.raises(ValueError, match=words) as caught:
        check_together(**arguments | changes)
    assert "\n" not in str(caught.value)


def test_a_seed_is_a_whole_number():
    with pytest.raises(ValueError, match="seed must be a whole number ≥ 0, got -1"):
        quick(seed=-1)


def test_epochs_are_of_mini_batches_and_steps_of_full_batches():
    with pytest.raises(ValueError, match=r"^epochs=3 is about mini-batches, and the 120 .*steps"):
        fit(X, Y, beta=1.0, training=Training(epochs=3))
    with pytest.raises(ValueError, match=r"^epochs=3 is about mini-batches, and the 108 "):
        fit(X, Y, training=Training(epochs=3, batch_size=110))  # a tenth of the rows is held out
    with pytest.raises(ValueError, match=r"^max_steps=9 is about full .*batches of 50; give ep"):
        fit(X, Y, beta=1.0, training=Training(max_steps=9, batch_size=50))
    both = {"epochs": 3, "max_steps": 9}
    for batch_size, alone in ((None, {"max_steps": 9}), (50, {"epochs": 3})):
        settings_of = [
            Training(**given, batch_size=batch_size).settings(120, 1, 0) for given in (both, alone)
        ]
        assert settings_of[0] == settings_of[1]
    assert Training(batch_size=None).settings(120, 1, 0).steps == 2000


def test_where_q_is_solved_for_beta_is_above_zero(monkeypatch):
    chunks = Interrupter(monkeypatch)
    for options in ({"beta": 0.0}, {"beta": "auto", "beta_grid": [1.0, 0.0]}):
        with pytest.raises(ValueError, match="needs beta above 0, got beta"):
            quick(loss="direct-square", **options)
    for options, words in (
        ({"beta": 0.0}, "needs beta above 0"),
        ({"beta": -1.0}, "beta must be 'auto' or a number ≥ 0"),
        ({"objective": "fitc", "beta": 2.0}, "FITC has no weight"),
        ({"max_steps": 0}, "max_steps must be a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            fit_collapsed(X, Y, **flat_model(**options))
    for model in (Sparse(features="mlp"), Sparse(mean_field=True)):
        with pytest.raises(ValueError, match="with a full covariance and without a network"):
            fit_collapsed(X, Y, model=model)
    assert chunks.count == 0


@pytest.mark.parametrize("option", ["loss", "likelihood", "kernel", "divergence", "expectation"])
def test_an_unknown_part_is_named_with_its_alternatives(option):
    with pytest.raises(ValueError, match=r"unknown .* 'nonsense'; choose one of"):
        quick(**{option: "nonsense"})


def test_progress_is_shown_when_asked_for(capsys, auto):
    quick(verbose=True)
    shown = capsys.readouterr().err
    for word in ("training", "objective", "risk", "penalty"):
        assert word in " ".join(shown.split())
    quick(verbose=True, **AUTO)
    shown = capsys.readouterr().err
    assert "warm-up" in shown and "final" in shown and "β = " in shown
    quick(verbose=False)
    quick()
    assert capsys.readouterr() == ("", "")


def test_a_kernel_may_be_given_with_its_start():
    slow = quick(kernel=Matern52(0.5, [0.3, 3.0]), max_steps=50, learning_rate=1e-9)
    np.testing.assert_allclose(unwrap(slow.gp.model.kernel.lengthscale), [0.3, 3.0], rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"validation": 0.2}, {"first_weight": 0.0}], ids=str)
def test_the_users_arrays_are_left_as_they_are(rng, options):
    """Rows taken out of a table are scaled in place, those of the table are not."""
    X, y, weight = rng.normal(3.0, 2.0, size=(40, 2)), rng.normal(5.0, size=40), np.ones(40)
    weight[0] = options.get("first_weight", 1.0)
    before = X.copy(), y.copy()
    share = options.get("validation")
    fit(
        X,
        y,
        beta=1.0,
        validation=share,
        sample_weight=weight,
        model=Sparse(num_inducing=5),
        training=Training(max_steps=1),
    )
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(("options", "pace"), [({}, 3.0), ({"learning_rate": 0.05}, 1.0)])
def test_a_learning_rate_that_is_given_holds_for_all_parts(options, pace, monkeypatch):
    """Without one the kernel and the mean of q(u) move faster."""
    seen, original = [], loop.run_chunk

    def run_chunk(descent, *args, **more):
        seen.append(descent.quick)
        return original(descent, *args, **more)

    monkeypatch.setattr(loop, "run_chunk", run_chunk)
    quick(max_steps=50, **options)
    assert seen and set(seen) == {pace}


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_columns_of_a_frame_keep_their_names(frame, tmp_path):
    """A frame with its columns in another order once gave other numbers without a word."""
    import pandas as pd
    import polars as pl

    rng = np.random.default_rng(0)
    columns = {"width": rng.normal(size=40), "height": rng.normal(size=40)}
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[frame](columns)
    fitted = directgp.fit(
        table, np.sin(columns["width"]), beta=1.0, training=directgp.Training(max_steps=20)
    )
    directgp.save(fitted, tmp_path / "model.dgp")
    for model in (fitted, directgp.load(tmp_path / "model.dgp").fitted):
        assert set(model.hyperparameters()["lengthscale"]) == {"width", "height"}
        with pytest.raises(ValueError, match="must have the columns width, height, in this order"):
            model.predict(table[["height", "width"]])
        by_name = model.predict(table[["width", "height"]]).mean
        plain = model.predict(np.column_stack(list(columns.values()))).mean
        np.testing.assert_array_equal(by_name, plain)


def test_fits_are_compared_by_identity():
    X = np.linspace(0, 1, 10)[:, None]
    one, other = (
        directgp.fit(X, X[:, 0], beta=1.0, training=directgp.Training(max_steps=2))
        for _ in range(2)
    )
    assert one == one and one != other and len({one, other}) == 2
