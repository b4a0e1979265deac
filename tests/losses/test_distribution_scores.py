"""CRPS and pinball as training losses: the predictive's own numbers, right slopes, and wins."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import directgp as dg
from directgp.expectations import CentredQuadrature, choose_expectation
from directgp.likelihoods import NegativeBinomialExp, likelihoods
from directgp.losses import CRPS, Direct, Gibbs, Integrals, Pinball
from directgp.losses.outcomes import BinnedOutcomes, GaussianOutcomes, predicted
from directgp.marginals import Marginals

N = 6
LEVELS = (0.1, 0.5, 0.8)
REAL = {"gaussian": lambda: dg.Gaussian(0.3), "student-t": lambda: dg.StudentT(0.4, 3.5)}
MIXED = [("gaussian", Pinball(LEVELS)), ("student-t", CRPS())]
CLASSES = [name for name in likelihoods if likelihoods.create(name).support == "classes"]


def make_marginals(rng, num_components, latents=1, offset=0.0, spread=0.7) -> Marginals:
    shape = (num_components, N, latents)
    weights = rng.dirichlet(np.full(num_components, 3.0))
    return Marginals(
        jnp.asarray(offset + rng.normal(size=shape)),
        jnp.asarray(spread**2 * np.exp(0.3 * rng.normal(size=shape))),
        jnp.log(jnp.asarray(weights)),
    )


@eqx.filter_jit
def row_losses(loss, likelihood, y, q, expectation=None, key=None):
    expectation = expectation or choose_expectation(loss.needs, likelihood)
    return loss(likelihood, Integrals(y, q, expectation, key))


def predictive_of(likelihood, q):
    return likelihood.predictive(*map(np.asarray, (q.mean, q.variance, q.log_weights)))


def pinball(predictive, y, levels=LEVELS):
    errors = np.asarray(y)[:, None] - predictive.quantile(levels)
    return np.mean(np.maximum(np.array(levels) * errors, (np.array(levels) - 1) * errors), axis=1)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("num_components", [1, 3])
def test_real_scores_are_those_of_the_predictive(name, num_components, rng):
    likelihood, q = REAL[name](), make_marginals(rng, num_components)
    y = jnp.asarray(rng.normal(size=N) * [1, 1, 1, 10, 30, 0])
    predictive = predictive_of(likelihood, q)
    tolerance = {"gaussian": 1e-10, "student-t": 2e-5}[name]
    crps = row_losses(Direct(CRPS()), likelihood, y, q)
    np.testing.assert_allclose(crps, predictive.crps(np.asarray(y)), rtol=tolerance)
    values = row_losses(Direct(Pinball(LEVELS)), likelihood, y, q)
    np.testing.assert_allclose(values, pinball(predictive, y), rtol=tolerance)


def test_student_noise_as_gaussians_keeps_its_crps_at_every_df():
    q = Marginals(jnp.zeros((1, 3, 1)), jnp.full((1, 3, 1), 0.04), jnp.zeros(1))
    y = jnp.array([0.0, 0.7, 20.0])
    for df in (1.2, 2.0, 5.0, 60.0, 1e4):
        likelihood = dg.StudentT(0.5, df)
        exact = predictive_of(likelihood, q).crps(np.asarray(y))
        values = row_losses(Direct(CRPS()), likelihood, y, q)
        np.testing.assert_allclose(values, exact, rtol=2e-2 if df < 2 else 1e-3)


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_the_ranked_probability_score(name, rng):
    likelihood = likelihoods.create(name)
    q = make_marginals(rng, 2, likelihood.num_latents)
    y = jnp.asarray(rng.integers(max(2, likelihood.num_latents), size=N).astype(float))
    sampled = likelihood.num_latents > 1
    how = dg.MonteCarlo(4000) if sampled else None
    values = row_losses(Direct(CRPS()), likelihood, y, q, how, jax.random.key(0))
    exact = predictive_of(likelihood, q).crps(np.asarray(y))
    np.testing.assert_allclose(values, exact, atol=0.02 if sampled else 1e-7)


@pytest.mark.parametrize("name", ["poisson", "negative-binomial-softplus"])
def test_small_counts_are_summed(name, rng):
    likelihood, q = likelihoods.create(name), make_marginals(rng, 2, spread=0.4)
    y = jnp.array([0.0, 1.0, 3.0, 7.0, 12.0, 60.0])
    exact = predictive_of(likelihood, q).crps(np.asarray(y))
    np.testing.assert_allclose(row_losses(Direct(CRPS()), likelihood, y, q), exact, rtol=2e-3)


@pytest.mark.parametrize("name", ["poisson", "negative-binomial"])
def test_large_counts_are_binned(name, rng):
    likelihood = likelihoods.create(name)
    mean = jnp.log(jnp.array([50.0, 1e3, 1e3, 1e5, 1e5, 10.0]))[None, :, None]
    variance = jnp.array([0.5, 0.0001, 0.3, 1e-6, 1.0, 1e-4])[None, :, None]
    y = jnp.array([30.0, 1010.0, 10.0, 1e5, 1e6, 1e4])
    q = Marginals(mean, variance, jnp.zeros(1))
    exact = predictive_of(likelihood, q).crps(np.asarray(y))
    np.testing.assert_allclose(row_losses(Direct(CRPS()), likelihood, y, q), exact, rtol=2e-2)


def test_the_quantile_of_a_count_is_that_of_the_count_spread_evenly(rng):
    """P(Y ≤ k) is reached at k + ½, and the quantile is linear in between."""
    likelihood, q = dg.PoissonExp(), make_marginals(rng, 1, offset=1.0, spread=0.4)
    predictive = predictive_of(likelihood, q)
    y = jnp.zeros(N)  # so that the loss of one level is (1 − level) · quantile
    quantile = np.asarray(row_losses(Direct(Pinball((0.7,))), likelihood, y, q)) / 0.3
    k = np.floor(quantile + 0.5)
    below, upto = predictive.cdf(k - 1), predictive.cdf(k)
    assert np.all((below <= 0.7 + 1e-3) & (upto >= 0.7 - 1e-3))
    np.testing.assert_allclose(quantile, k - 0.5 + (0.7 - below) / (upto - below), atol=0.1)


def test_binned_outcomes_with_single_numbers_are_exact():
    masses = jnp.array([0.2, 0.5, 0.3])[:, None]
    ones = jnp.ones((3, 1))
    outcomes = BinnedOutcomes(jnp.arange(3.0)[:, None], ones, masses)
    assert float(outcomes.crps(jnp.array([1.0]))[0]) == pytest.approx(0.2**2 + 0.3**2)
    assert float(outcomes.quantile(0.2)[0]) == pytest.approx(0.5)
    assert float(outcomes.quantile(0.45)[0]) == pytest.approx(1.0)
    wide = BinnedOutcomes(
        jnp.array([[0.0], [4.0]]), jnp.array([[4.0], [1.0]]), jnp.array([[0.8], [0.2]])
    )
    even = BinnedOutcomes(jnp.arange(5.0)[:, None], jnp.ones((5, 1)), jnp.full((5, 1), 0.2))
    for y in (0.0, 4.0):
        np.testing.assert_allclose(wide.crps(jnp.array([y])), even.crps(jnp.array([y])))


@pytest.mark.parametrize(("name", "score"), MIXED, ids=str)
def test_gibbs_scores_average_over_the_latent_value(name, score, rng):
    """E_q of the direct score of a q without variance, by quadrature over f."""
    likelihood, q, y = REAL[name](), make_marginals(rng, 2), jnp.asarray(rng.normal(size=N))
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    f = (q.mean + jnp.sqrt(q.variance) * nodes[:, None, None, None]).reshape(1, -1, 1)
    points = Marginals(f, jnp.full(f.shape, 1e-12), jnp.zeros(1))
    many_y = jnp.broadcast_to(y, (300, N)).reshape(-1)
    values = row_losses(Direct(score), likelihood, many_y, points).reshape(150, 2, N)
    average = np.einsum("k,s,ksn->n", weights / weights.sum(), np.exp(q.log_weights), values)
    gibbs = row_losses(Gibbs(score), likelihood, y, q)
    np.testing.assert_allclose(gibbs, average, rtol=5e-3)  # the pinball has a kink in f
    assert np.all(gibbs >= row_losses(Direct(score), likelihood, y, q) - 1e-12)


# ---------------------------------------------------------------- gradients


def assert_gradient_is_right(loss, likelihood, y, q, rtol):
    """Against central differences along random directions of all that is learned."""
    key = jax.random.key(1)
    how = choose_expectation(loss.needs, likelihood)
    learned, fixed = eqx.partition((likelihood, q), eqx.is_inexact_array)

    @jax.jit  # value and gradient in one: compiled once
    @jax.value_and_grad
    def total(learned):
        parts, marginals = eqx.combine(learned, fixed)
        return jnp.sum(loss(parts, Integrals(y, marginals, how, key)))

    gradient, rng = total(learned)[1], np.random.default_rng(0)
    for _ in range(3):
        direction = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), learned)

        def along(step, direction=direction):
            return float(total(jax.tree.map(lambda a, d: a + step * d, learned, direction))[0])

        slope = sum(jax.tree.leaves(jax.tree.map(lambda g, d: jnp.sum(g * d), gradient, direction)))
        difference = (along(1e-6) - along(-1e-6)) / 2e-6
        assert float(slope) == pytest.approx(difference, rel=rtol, abs=1e-6)


@pytest.mark.parametrize(("name", "score"), MIXED, ids=str)
def test_gradients_of_real_scores(name, score, rng):
    y = jnp.asarray(rng.normal(size=N))
    assert_gradient_is_right(Direct(score), REAL[name](), y, make_marginals(rng, 3), rtol=1e-4)


@pytest.mark.parametrize("name", ["poisson", "bernoulli-logit"])
def test_gradients_of_counts_and_classes(name, rng):
    likelihood = likelihoods.create(name)
    y = jnp.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    assert_gradient_is_right(
        Direct(CRPS()), likelihood, y, make_marginals(rng, 2, spread=0.3), rtol=1e-3
    )


def test_a_quantile_between_components_far_apart_has_a_bounded_slope():
    def median(mean):
        mixture = GaussianOutcomes(mean, jnp.full((2, 1), 1e-4), jnp.log(jnp.array([0.5, 0.5])))
        return mixture.quantile(0.5)[0]

    value, slope = jax.jit(jax.value_and_grad(median))(jnp.array([[-100.0], [100.0]]))
    assert -100.0 <= float(value) <= 100.0 and bool(jnp.all(jnp.abs(slope) < 1e6))


@pytest.mark.parametrize("score", [CRPS(), Pinball()], ids=["crps", "pinball"])
def test_far_outliers_have_finite_scores_and_slopes(score):
    q = Marginals(jnp.zeros((1, 2, 1)), jnp.ones((1, 2, 1)), jnp.zeros(1))
    y, likelihood = jnp.array([-1e8, 1e8]), dg.StudentT()

    @jax.jit
    @jax.value_and_grad
    def value(q):
        return jnp.sum(Direct(score)(likelihood, Integrals(y, q, dg.ClosedForm(), None)))

    total, slopes = value(q)
    assert 1e7 < float(total) < 1e9
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(slopes))


# ---------------------------------------------------------------- errors


def test_what_is_not_defined_says_what_is():
    q = Marginals(jnp.zeros((1, 2, 1)), jnp.ones((1, 2, 1)), jnp.zeros(1))
    y = jnp.array([0.0, 1.0])
    with pytest.raises(ValueError, match="classes do not have; use log loss or CRPS"):
        row_losses(Direct(Pinball()), dg.BernoulliProbit(), y, q)
    for score in (CRPS(), Pinball()):
        with pytest.raises(ValueError, match=r"this score of PoissonExp is not known; use"):
            row_losses(Gibbs(score), dg.PoissonExp(), y, q)


@pytest.mark.parametrize("levels", [(), (0.0,), (0.5, 1.0), (np.nan,)])
def test_levels_are_checked(levels):
    with pytest.raises(ValueError, match="levels of Pinball must lie between 0 and 1"):
        Pinball(levels)


# ---------------------------------------------------------------- training


def bent_data(rng, count):
    """Skewed noise that no Gaussian fits: what is best then depends on the score."""
    X = rng.uniform(-2, 2, size=(count, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * (rng.gamma(0.7, 1.5, size=count) - 1.0)


def test_training_for_a_score_wins_on_that_score():
    rng = np.random.default_rng(0)
    (X, y), (X_new, y_new) = bent_data(rng, 400), bent_data(rng, 4000)
    level = (0.9,)
    trained = {
        name: dg.fit(
            X,
            y,
            loss=loss,
            beta=0.05,
            model=dg.Sparse(num_inducing=15, kernel="rbf"),
            training=dg.Training(max_steps=400),
        ).predict(X_new)
        for name, loss in {
            "log": "direct-log",
            "crps": "direct-crps",
            "pinball": Direct(Pinball(level)),
        }.items()
    }
    scores = {
        "log": {name: -np.mean(p.log_prob(y_new)) for name, p in trained.items()},
        "crps": {name: np.mean(p.crps(y_new)) for name, p in trained.items()},
        "pinball": {name: np.mean(pinball(p, y_new, level)) for name, p in trained.items()},
    }
    for score, values in scores.items():
        assert min(values, key=lambda name: values[name]) == score, scores


@pytest.mark.parametrize("components", [1, 8, 50])
def test_bins_of_counts_are_as_many_for_any_mixture_and_any_count(components):
    """So that a step costs no more for counts of 10⁶, nor S² for S components."""
    marginals = Marginals(
        jnp.linspace(0.0, 13.0, components)[:, None, None] * jnp.ones((components, 3, 1)),
        jnp.ones((components, 3, 1)),
        jnp.full(components, -np.log(components)),
    )
    y = jnp.array([0.0, 7.0, 1e6])
    integrals = Integrals(y, marginals, CentredQuadrature(20), None)

    @eqx.filter_jit
    def outcomes(likelihood, integrals):
        found = predicted(likelihood, integrals)
        return found, found.quantile(0.9)

    found, quantile = outcomes(NegativeBinomialExp(0.5), integrals)
    assert len(found.first) <= 81
    np.testing.assert_allclose(np.sum(found.mass, axis=0), 1.0)
    assert np.all(np.isfinite(quantile))
