"""`fit_stack`: calibrated, reproducible, best at the loss it was asked for, sound on odd tables."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

from directgp.errors import DirectGPError
from directgp.fitting.stacking import FittedStack, fit_stack
from directgp.fitting.stacking.member import Components
from directgp.fitting.stacking.regression import _weights
from directgp.fitting.stacking.stacked_density import gaussians, log_density, mixed

MEMBERS = ["exact GP", "mean", "trees", "trees + GP"]
LOSSES = ("log", "crps", "square", "pinball")


def table(rng, rows=100, noise=0.3):
    X = rng.normal(size=(rows, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=rows)


@pytest.fixture(scope="module")
def stack():
    rng = np.random.default_rng(0)
    X, y = table(rng, 300)
    return fit_stack(X, y)


def check_finite(fitted, X, y):
    found = fitted.predict(X)
    assert np.all(np.isfinite(found.mean)) and np.all(np.isfinite(found.log_prob(y)))
    assert np.all(found.variance > 0) and np.all(np.isfinite(found.quantile(0.99)))
    assert np.all(fitted.weights >= 0) and abs(fitted.weights.sum() - 1) < 1e-9
    assert np.all(np.isfinite(fitted.out_of_fold))


def test_members_and_what_is_printed(stack):
    assert [member.name for member in stack.members] == MEMBERS
    assert "exact GP" in repr(stack) and "log loss" in repr(stack) and "\n" not in repr(stack)
    said = stack.hyperparameters(["a", "b"])
    np.testing.assert_allclose(sum(each["weight"] for each in said.values()), 1.0)
    assert set(said["exact GP"]["lengthscale"]) == {"a", "b"}
    assert 0.15 < said["exact GP"]["noise_std"] < 0.45
    assert set(stack.relevance(["a", "b"])) == {"a", "b"}
    assert next(iter(stack.relevance(["a", "b"]))) == "a"  # the other is a straight line


def test_intervals_cover_new_rows_as_often_as_they_say(stack):
    X, y = table(np.random.default_rng(1), 1000)
    found = stack.predict(X)
    for share in (0.5, 0.9):
        low, high = found.quantile(0.5 - share / 2), found.quantile(0.5 + share / 2)
        assert abs(np.mean((low <= y) & (y <= high)) - share) < 0.06
    assert (
        abs(
            np.mean(-found.log_prob(y))
            - np.mean(stack.out_of_fold)
            - np.log(stack.targets.scale[0])
        )
        < 0.1
    )
    assert np.mean(-found.log_prob(y)) < 0.5  # 0.21 is the entropy of the noise


def test_quantiles_do_not_cross(stack):
    X, _ = table(np.random.default_rng(2), 50)
    levels = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    found = np.stack([stack.predict(X).quantile(level) for level in levels])
    assert np.all(np.diff(found, axis=0) > 0)


def test_no_row_has_influence_on_another(stack):
    X, _ = table(np.random.default_rng(3), 40)
    together = stack.predict(X)
    alone = [stack.predict(X[[row]]) for row in (0, 17, 39)]
    for row, found in zip((0, 17, 39), alone, strict=True):
        np.testing.assert_array_equal(found.means[:, 0], together.means[:, row])
        np.testing.assert_array_equal(found.variances[:, 0], together.variances[:, row])


def test_noise_that_is_not_the_same_everywhere_is_found(rng):
    X = rng.uniform(-1, 1, (300, 1))
    deviation = np.exp(1.5 * X[:, 0])
    fitted = fit_stack(X, X[:, 0] + deviation * rng.normal(size=300))
    std = fitted.predict([[-0.8], [0.8]]).std
    assert 4 < std[1] / std[0] < 30  # 11 in truth


def test_heavy_tails_are_found(rng):
    X, y = table(rng, 300, noise=0.0)
    fitted = fit_stack(X, y + 0.3 * rng.standard_t(2, 300))
    found = fitted.predict(X[:50])
    tails = found.quantile(0.995) - found.quantile(0.005)
    middle = found.quantile(0.75) - found.quantile(0.25)
    assert np.median(tails / middle) > 5.0  # 3.8 of a Gaussian


def test_a_step_is_left_to_trees_and_a_smooth_function_to_the_gp(rng):
    X = rng.normal(size=(200, 5))
    step = np.where(X[:, 0] > 0, 3.0, 0.0)
    steps = fit_stack(X, step + 0.1 * rng.normal(size=200))
    smooth = fit_stack(X, X @ np.arange(5.0) + 0.1 * rng.normal(size=200))
    # What the GP alone gets depends on the rows near the step, so new rows judge: noise 0.1.
    new = rng.normal(size=(1000, 5))
    error = steps.predict(new).mean - np.where(new[:, 0] > 0, 3.0, 0.0)
    assert np.median(np.abs(error)) < 0.1 and np.sqrt(np.mean(error**2)) < 0.4
    assert steps.shares["exact GP"] < 0.5
    assert smooth.shares["exact GP"] + smooth.shares["trees + GP"] > 0.8
    assert smooth.shares["trees"] < 0.1 and smooth.shares["mean"] < 0.1


def test_out_of_fold_losses_have_not_seen_their_row(rng):
    X, y = table(rng, 40)  # an exact GP and the mean: nothing but leave-one-out
    spoilt = y.copy()
    spoilt[7] += 30.0
    usual, with_outlier = fit_stack(X, y), fit_stack(X, spoilt)
    assert with_outlier.out_of_fold[7] > usual.out_of_fold[7] + 5
    assert np.argmax(with_outlier.out_of_fold) == 7


def test_the_same_seed_gives_the_same_stack(rng):
    X, y = table(rng)
    one, two, other = fit_stack(X, y), fit_stack(X, y), fit_stack(X, y, seed=1)
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.predict(X).means, two.predict(X).means)
    assert not np.array_equal(one.predict(X).means, other.predict(X).means)


def test_a_time_budget_leaves_members_out(rng):
    X, y = table(rng)
    told = []
    fitted = fit_stack(X, y, time_budget=0.0, report=told.append)
    assert [member.name for member in fitted.members] == ["exact GP", "mean"]
    assert told == ["exact GP"]
    assert fitted.members[0].scale is None
    check_finite(fitted, X, y)


def test_few_rows_get_the_gp_and_the_mean(rng):
    X, y = table(rng, 49)
    assert [member.name for member in fit_stack(X, y).members] == ["exact GP", "mean"]


def test_inputs_that_say_nothing_leave_the_mean():
    rng = np.random.default_rng(5)
    new, y_new = rng.normal(size=(500, 12)), rng.normal(size=500)
    for rows in (12, 40, 80):
        X, y = rng.normal(size=(rows, 12)), rng.normal(size=rows)
        found = fit_stack(X, y).predict(new)
        mean, deviation = y.mean(), y.std(ddof=1) * np.sqrt(1 + 1 / rows)
        plain = 0.5 * ((y_new - mean) / deviation) ** 2 + np.log(deviation * np.sqrt(2 * np.pi))
        assert -np.mean(found.log_prob(y_new)) < np.mean(plain) + 0.15
        low, high = found.quantile(0.05), found.quantile(0.95)
        assert np.mean((low <= y_new) & (y_new <= high)) > 0.8


def test_a_target_far_from_the_function_is_as_likely_as_by_the_mean():
    X = np.linspace(0, 1, 40)[:, None]
    fitted = fit_stack(X, X[:, 0])  # a straight line without noise
    share, deviation = 0.5 / 41, np.std(X)  # what no row gives and none can take
    far = fitted.predict(np.array([[0.0]])).log_prob(np.array([1.0]))[0]
    expected = np.log(share) - 0.5 * (0.5 / deviation) ** 2 - np.log(2.5 * deviation)
    assert fitted.shares["mean"] > 0.9 * share
    assert far > expected - 0.3


def test_one_heavy_row_leaves_a_mean_for_the_others(rng):
    X, y = table(rng, 20)
    heavy = np.where(np.arange(20) == 3, 1e12, 1.0)
    check_finite(fit_stack(X, y, sample_weight=heavy), X, y)


def test_weights_are_best_at_the_loss_that_was_asked_for(rng):
    y = rng.normal(size=80)
    # Sharp and biased, wide and right, right with a heavy tail.
    parts = [
        Components(np.stack([y + 0.3]), np.full((1, 80), 0.2), np.ones(1)),
        Components(np.stack([y + 0.4 * rng.normal(size=80)]), np.full((1, 80), 1.0), np.ones(1)),
        Components(
            np.stack([y + 0.5 * rng.normal(size=80)] * 2),
            np.repeat([[0.3], [1.5]], 80, axis=1),
            np.array([0.8, 0.2]),
        ),
    ]
    row_weight = rng.uniform(0.5, 2.0, 80)
    judges = {
        "log": lambda found: -found.log_prob(y),
        "crps": lambda found: found.crps(y),
        "square": lambda found: (found.mean - y) ** 2,
    }
    weights = {loss: _weights(loss, parts, y, row_weight) for loss in LOSSES}
    assert np.array_equal(weights["pinball"], weights["crps"])
    for loss, judge in judges.items():
        losses = {
            name: row_weight @ judge(gaussians(mixed(parts, own))) / row_weight.sum()
            for name, own in weights.items()
        }
        others = [
            value
            for name, value in losses.items()
            if not np.array_equal(weights[name], weights[loss])
        ]
        assert losses[loss] < min(others), losses


def odd_tables():
    rng = np.random.default_rng(0)
    X, y = table(rng, 60)
    return {
        "2 rows": (X[:2], y[:2]),
        "3 rows": (X[:3], y[:3]),
        "constant y": (X, np.full(60, 3.0)),
        "2 equal targets": (X[:2], np.ones(2)),
        "a constant column": (np.column_stack([X, np.ones(60)]), y),
        "constant columns alone": (np.ones((60, 1)), y),
        "equal rows": (np.repeat(X[:12], 5, axis=0), np.repeat(y[:12], 5)),
        "an outlier": (X, np.where(np.arange(60) == 3, 1e6, y)),
        "an outlier in X": (np.where(np.arange(120).reshape(60, 2) == 8, 1e12, X), y),
        "wild scales": (X * np.array([1e300, 1e-300]), y * 1e100),
        "whole numbers": (np.round(X), np.round(y)),
        "no noise": (X, X[:, 0]),
    }


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        *((name, "log") for name in odd_tables()),
        *((name, loss) for name in ("2 rows", "an outlier") for loss in LOSSES[1:]),
    ],
)
def test_small_and_odd_tables(name, loss):
    X, y = odd_tables()[name]
    fitted = fit_stack(X, y, loss=loss)
    assert isinstance(fitted, FittedStack)
    check_finite(fitted, X, y)


def test_far_away_rows_get_finite_predictions(stack):
    found = stack.predict([[1e300, -1e300], [1e6, 0.0], [-1e6, 0.0]])
    assert np.all(np.isfinite(found.mean)) and np.all(found.std > 0.1)
    assert np.all(np.abs(found.mean) < 100)


def test_weights_of_rows(rng):
    X = rng.normal(size=(60, 1))
    y = np.repeat([0.0, 1.0], 30) + 0.1 * rng.normal(size=60)
    heavy = fit_stack(X, y, sample_weight=np.repeat([1.0, 9.0], 30))
    assert abs(heavy.predict(X).mean.mean() - 0.9) < 0.1
    for size in (1e-300, 1e300):
        check_finite(fit_stack(X, y, sample_weight=np.full(60, size)), X, y)
    none = np.repeat([0.0, 1.0], 30)
    np.testing.assert_array_equal(
        fit_stack(X, y, sample_weight=none).predict(X).means,
        fit_stack(X[30:], y[30:]).predict(X).means,
    )


@pytest.mark.parametrize(
    ("X", "y", "options", "complaint"),
    [
        (np.zeros((1, 1)), [1.0], {}, "at least 2 rows"),
        (np.zeros((3, 1)), [1.0, 2.0], {}, "3 rows but y has 2"),
        ([[np.nan], [1.0]], [1.0, 2.0], {}, "missing or infinite"),
        (np.eye(2), [1e300, -1e300], {}, "give y in other units"),
        (np.eye(2), [1.0, 2.0], {"sample_weight": [0.0, 1.0]}, "weight above 0"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_be_fitted_is_refused_in_a_line(X, y, options, complaint):
    with pytest.raises(DirectGPError, match=complaint) as caught:
        fit_stack(X, y, **options)
    assert "\n" not in str(caught.value)


def test_other_columns_are_refused(stack):
    with pytest.raises(DirectGPError, match="trained on 2"):
        stack.predict(np.zeros((1, 3)))


def test_a_component_of_weight_0_counts_for_nothing():
    part = Components(np.array([[0.0], [9.0]]), np.ones((2, 1)), np.array([1.0, 0.0]))
    np.testing.assert_allclose(log_density(part, np.zeros(1)), -0.5 * np.log(2 * np.pi))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_diabetes_is_never_clearly_behind_ridge_regression(seed):
    X, y = load_diabetes(return_X_y=True)
    train, test, own, truth = train_test_split(X, y, test_size=0.2, random_state=seed)
    found = fit_stack(train, own, seed=seed).predict(test)
    ridge = RidgeCV(alphas=np.logspace(-3, 3, 13), store_cv_results=True).fit(train, own)
    spread = np.sqrt(np.min(np.mean(ridge.cv_results_, axis=0)))
    mean = ridge.predict(test)
    by_ridge = 0.5 * ((truth - mean) / spread) ** 2 + np.log(spread * np.sqrt(2 * np.pi))
    for worse in (
        -found.log_prob(truth) - by_ridge,
        (truth - found.mean) ** 2 - (truth - mean) ** 2,
    ):
        assert np.mean(worse) < 2.0 * np.std(worse) / np.sqrt(len(worse))
