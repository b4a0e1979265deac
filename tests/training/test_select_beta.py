"""Choosing β: the paper's grid, at most four fits of work, the best of the finalists wins."""

import warnings
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.objective import Parts
from directgp.training import beta_grid, select_beta
from directgp.training.loop import Settings, Trained
from directgp.training.progress import Silent
from directgp.training.resumable import Stages
from directgp.training.select_beta import Fold, race_chunk, race_fits, train_with_beta


class Recorded(Stages):
    """Stages that only write down what they were asked to do."""

    def __init__(self):
        self.asked = []

    def run(self, name, gp, settings, beta, validation=None):
        self.asked.append((name, settings, beta, validation))
        return Trained(gp, "", {"validation": []})


class Judged:
    """A judge by hand-made losses; classes have the loss of a further row."""

    def __init__(self, rows, further=None):
        self.rows = rows
        self.further_row = lambda gp: None if further is None else further(gp)
        self.rows_by_noise = lambda gp: rows(gp)[None]


def single(ridge, stages, row_losses=None):
    return [Fold(ridge.gp, stages, Judged(row_losses or ridge.row_losses))]


def test_the_grid_is_the_papers():
    assert beta_grid(1000)[:3] == [1000.0, 500.0, 250.0]
    for n in (1, 2, 37, 10**6):
        grid = beta_grid(n)
        assert grid[0] == n and grid[-1] == 0.01
        assert all(a == 2 * b for a, b in pairwise(grid[:-1]))
        assert grid[-2] / 2 < 0.01 <= grid[-2]


@pytest.mark.parametrize("num_data", [3, 500, 10**6])
@pytest.mark.parametrize("steps,chunk", [(30, 50), (100, 50), (120, 20), (137, 50), (2000, 50)])
@pytest.mark.parametrize("batch_size,most", [(None, 4), (10, 2.2)])
def test_the_whole_grid_costs_at_most_four_fits(ridge, num_data, steps, chunk, batch_size, most):
    stages = Recorded()
    settings = Settings(steps, batch_size, chunk=chunk, patience=4)
    choice = select_beta(single(ridge, stages, lambda gp: np.ones(1)), settings, num_data)
    trained = sum(own.steps for _, own, _, _ in stages.asked)
    assert trained <= most * steps
    assert choice.cost == pytest.approx(trained / steps)
    assert {beta for _, _, beta, _ in stages.asked} == {1.0, *beta_grid(num_data)}
    chunks = {own.chunk for _, own, _, _ in stages.asked}
    assert len(chunks) == 1, "chunks of one length are compiled once"
    assert all(own.steps % own.chunk == 0 for _, own, _, _ in stages.asked)


@pytest.mark.parametrize("batch_size,finalists", [(None, 3), (10, 1)])
def test_only_the_finalists_may_end_early_and_are_validated_as_they_go(
    ridge, batch_size, finalists
):
    stages = Recorded()
    settings = Settings(1000, batch_size, patience=4, tolerance=1e-3)
    select_beta(single(ridge, stages), settings, 100)
    assert len({beta for _, _, beta, _ in stages.asked[-finalists:]}) == finalists
    for _, own, _, validated in stages.asked[-finalists:]:
        assert (own.patience, own.tolerance) == (4, 1e-3)
        assert validated(ridge.gp) == ridge.validation(ridge.gp)
    for _, own, _, validated in stages.asked[:-finalists]:
        assert (own.patience, own.tolerance, validated) == (None, 0.0, None)


@pytest.mark.parametrize("batch_size,rate,falls", [(None, 0.05, True), (10, 0.1, False)])
def test_rungs_of_mini_batches_have_the_rate_of_the_fit(ridge, batch_size, rate, falls):
    """A rate that falls within a rung favours β above 1; the last training's rate always falls."""
    stages = Recorded()
    settings = Settings(1000, batch_size, learning_rate=0.1)
    select_beta(single(ridge, stages), settings, 100)
    rungs = [own for name, own, _, _ in stages.asked if name.startswith("β = ")]
    assert len(rungs) > len(beta_grid(100))
    assert {(own.learning_rate, own.decay) for own in rungs} == {(rate, falls)}
    finals = [own for name, own, _, _ in stages.asked if name.startswith("final")]
    assert {(own.learning_rate, own.decay) for own in finals} == {(0.1, True)}


def test_a_short_rung_that_misleads_does_not_decide(ridge):
    """With mini-batches those that go on stand for the whole grid, whatever looks best at first."""
    stages, seen = Recorded(), []

    def row_losses(gp):
        seen.append(1)
        beta = stages.asked[-1][2]
        misled = len(seen) <= len(beta_grid(10**4))
        return np.full(5, abs(np.log(beta / (1000.0 if misled else 0.1))))

    settings = Settings(2000, 10)
    assert 0.1 / 8 < select_beta(single(ridge, stages, row_losses), settings, 10**4).beta < 0.1 * 8
    second = [beta for _, _, beta, _ in stages.asked[-9:-3]]
    assert all(a / b >= 8 for a, b in pairwise(sorted(second, reverse=True)))


def race(ridge, grid=None, objective=None, row_losses=None, steps=400):
    settings = Settings(steps, None, chunk=20, tolerance=0.0)
    stages = Stages(objective or ridge.objective, ridge.data, Silent())
    return select_beta(single(ridge, stages, row_losses), settings, 40, grid)


def test_the_winner_cannot_be_told_from_the_best_of_all(ridge):
    choice = race(ridge)
    assert sorted(choice.curve) == sorted(beta_grid(40))
    assert choice.cost <= 4
    assert ridge.validation(choice.trained.gp) == choice.curve[choice.beta]

    def exact(beta):
        return ridge.row_losses(ridge.gp._replace(model=ridge.solution(beta)))

    best = min((exact(beta) for beta in beta_grid(40)), key=np.mean)
    difference = exact(choice.beta) - best
    assert np.mean(difference) <= 1.1 * np.std(difference) / np.sqrt(len(difference)) + 1e-6


def test_the_same_race_gives_the_same_bits(ridge):
    first, second = race(ridge), race(ridge)
    np.testing.assert_array_equal(first.trained.gp.model, second.trained.gp.model)
    assert first.curve == second.curve


def test_a_grid_may_be_given(ridge):
    assert set(race(ridge, [0.5, 8.0, 2.0, 2.0]).curve) == {0.5, 2.0, 8.0}
    assert race(ridge, [3.0]).beta == 3.0


@pytest.mark.parametrize("grid", [[], [-1.0, 1.0], [np.nan, 1.0], [np.inf]])
def test_a_useless_grid_is_refused(ridge, grid):
    with pytest.raises(ValueError, match="grid of beta"):
        race(ridge, grid)


def test_a_beta_whose_score_is_nan_never_wins(ridge):
    calls = []

    def row_losses(gp):
        calls.append(1)
        return ridge.row_losses(gp) * (np.nan if len(calls) <= 3 else 1.0)

    choice = race(ridge, [40.0, 20.0, 10.0, 5.0, 2.5], row_losses=row_losses)
    assert np.isfinite(choice.curve[choice.beta])


def test_candidates_that_fail_lose_without_a_warning(ridge):
    def objective(model, likelihood, batch, *, beta, num_data, key):
        value, parts = ridge.objective(
            model, likelihood, batch, beta=beta, num_data=num_data, key=key
        )
        return jnp.where(beta < 0.5, jnp.nan, value), Parts(*parts)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choice = race(ridge, [0.01, 0.1, 1.0, 4.0], objective)
    assert choice.beta >= 0.5
    assert choice.curve[0.01] == choice.curve[0.1] == np.inf


@pytest.mark.parametrize("after", [2.0, 0.5])
def test_a_finalist_that_only_overfits_stays_as_it_was(ridge, after):
    """Few held-out rows and a weak penalty: the last stage can undo what the race had reached."""
    raced, ended = ridge.gp._replace(), ridge.gp._replace()

    class Overfitting(Stages):
        def __init__(self):
            pass

        def run(self, name, gp, settings, beta, validation=None):
            return Trained(ended if validation else raced, "", {"validation": []})

    choice = select_beta(
        single(ridge, Overfitting(), lambda gp: np.full(2, after if gp is ended else 1.0)),
        Settings(1000, None),
        100,
    )
    assert choice.trained is not None
    assert choice.trained.gp is (ended if after < 1.0 else raced)
    assert choice.curve[choice.beta] == min(1.0, after)


# ---------------------------------------------------------------- cross-validation


def folds(ridge, number):
    """Each fold trains on the same rows and is judged by another part of the held-out rows."""

    def part(index):
        return lambda gp: ridge.row_losses(gp)[index::number]

    made = [Stages(ridge.objective, ridge.data, Silent()) for _ in range(number)]
    return [Fold(ridge.gp, stages, Judged(part(index))) for index, stages in enumerate(made)]


def test_folds_judge_together_and_the_winner_is_left_to_be_trained_on_all_rows(ridge):
    settings = Settings(400, None, chunk=20, tolerance=0.0)
    choice = select_beta(folds(ridge, 2), settings, 40, refits=True)
    assert choice.trained is None
    assert len(choice.held_out) == 200
    assert np.mean(choice.held_out) == pytest.approx(choice.curve[choice.beta])
    assert sorted(choice.curve) == sorted(beta_grid(40))
    chunk = race_chunk(settings, 2)
    stages = Stages(ridge.objective, ridge.data, Silent())
    trained = train_with_beta(ridge.gp, stages, settings, choice, chunk)
    np.testing.assert_allclose(trained.gp.model, ridge.solution(choice.beta), atol=1e-3)


@pytest.mark.parametrize("number,most", [(1, 3.5), (2, 5.5), (3, 8.0)])
def test_the_cost_of_folds_is_known_before(ridge, number, most):
    recorded = [Recorded() for _ in range(number)]
    made = [Fold(ridge.gp, stages, Judged(lambda gp: np.ones(4))) for stages in recorded]
    settings = Settings(2000, None)
    choice = select_beta(made, settings, 450, refits=True)
    told = race_fits(settings, None, 450, number)
    assert choice.cost + 1 == pytest.approx(told, rel=0.05) and told < most
    for stages in recorded:
        names = [name for name, *_ in stages.asked]
        assert names == [name for name, *_ in recorded[0].asked]
        assert [name.startswith("final") for name in names[-3:]] == [False, True, True]
        assert all(validation is None for *_, validation in stages.asked)


def test_a_candidate_that_fails_in_one_fold_loses(ridge):
    first, second = Recorded(), Recorded()

    def rows(gp):
        return np.full(9, np.nan if second.asked[-1][2] == 1.0 else 0.5)

    made = [
        Fold(ridge.gp, first, Judged(lambda gp: np.zeros(9))),
        Fold(ridge.gp, second, Judged(rows)),
    ]
    choice = select_beta(made, Settings(400, None), 40, [1.0, 4.0, 40.0], refits=True)
    assert choice.curve[1.0] == np.inf and choice.beta == 4.0


# ---------------------------------------------------------------- classes


def confident(beta):
    """Log losses of 45 rows, all classified rightly: the smaller β, the surer."""
    return 0.02 * min(beta, 10.0)


@pytest.mark.parametrize("counts_a_further_row", [False, True])
def test_held_out_rows_without_an_error_are_no_reason_to_be_sure(ridge, counts_a_further_row):
    stages = Recorded()

    def rows(gp):
        return np.full(45, confident(stages.asked[-1][2]))

    def further(gp):
        """Half of the classes are wrong, and cost more the surer the model is."""
        return 0.5 * -np.log(confident(stages.asked[-1][2]))

    judge = Judged(rows, further if counts_a_further_row else None)
    choice = select_beta([Fold(ridge.gp, stages, judge)], Settings(1000, None), 400)
    assert 0.25 < choice.beta < 4 if counts_a_further_row else choice.beta == 0.01
    assert len(choice.held_out) == 45, "the further row is no held-out row"
