"""Posterior risk, d_L, the regression forms (20)–(22), sparse means, the power plant."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from directgp.exact import ErrorCosts
from directgp.kernels import RBF
from directgp.theory import decision_theory as theory
from experiments import power_plant

COSTS = ErrorCosts(jnp.asarray(0.2), jnp.asarray(1.0))
NOISE = jnp.asarray(0.1)


def test_excess_risk_is_never_negative_and_zero_for_the_truth(rng):
    for _ in range(20):
        p, q = jnp.asarray(rng.random((2, 50)))
        assert theory.loss_divergence(p, q, COSTS) >= 0
        assert theory.loss_divergence(p, p, COSTS) == 0
        by_q = COSTS.bayes_decisions(q)
        best = COSTS.bayes_decisions(p)
        assert 0 <= theory.normalised_risk(p, by_q, COSTS) <= 1
        np.testing.assert_allclose(theory.normalised_risk(p, best, COSTS), 0.0, atol=1e-15)
        np.testing.assert_allclose(theory.normalised_risk(p, ~best, COSTS), 1.0, rtol=1e-12)


def test_where_all_lie_on_the_threshold_no_decision_is_worse():
    p = jnp.full(4, 0.5)
    for decisions in (jnp.ones(4, bool), jnp.asarray([True, False, True, False])):
        assert theory.normalised_risk(p, decisions, ErrorCosts(jnp.ones(()), jnp.ones(()))) == 0.0


def test_risk_is_the_average_cost(rng):
    p, h = jnp.asarray([0.3, 0.9]), jnp.asarray([True, False])
    np.testing.assert_allclose(theory.risk(p, h, COSTS), (0.2 * 0.7 + 1.0 * 0.9) / 2)


@pytest.fixture
def regression(rng):
    X, new = np.linspace(0, 1, 40)[:, None], 0.7 + 0.6 * rng.random((200, 1))  # shifted
    kernel = RBF(1.0, 0.2)
    K = kernel.matrix(jnp.asarray(X), jnp.asarray(X))
    cross = kernel.matrix(jnp.asarray(new), jnp.asarray(X))
    y = jnp.asarray(np.sin(8 * X[:, 0]) + 0.3 * rng.normal(size=40))
    kept = jnp.eye(40)[:, ::7]
    return K, cross, y, kept


def test_equation_20_is_the_excess_square_risk(regression, rng):
    K, cross, y, _ = regression
    mean_p = theory.posterior_mean(K, y, NOISE)
    mean_q = mean_p + jnp.asarray(0.1 * rng.normal(size=40))
    gram = theory.expected_gram(cross)
    # R_p(h) = E[(y − h)²]: the variance is common, what is left is the squared gap of means.
    gap = cross @ mean_q - cross @ mean_p
    by_equation = theory.square_divergence(mean_q, mean_p, gram)
    np.testing.assert_allclose(by_equation, jnp.mean(gap**2), rtol=1e-9)
    np.testing.assert_allclose(
        cross @ mean_p, cross @ np.linalg.solve(K + 0.1 * np.eye(40), y), atol=1e-6
    )


def test_equation_34_minimises_the_kl(regression, rng):
    K, _, y, kept = regression
    mean_p = theory.posterior_mean(K, y, NOISE)
    sparse = theory.sparse_kl_mean(kept.T @ K @ kept, kept.T @ K, y, NOISE)
    best = theory.kl_of_means(kept @ sparse, mean_p, K, NOISE)
    for _ in range(10):
        other = sparse + jnp.asarray(1e-2 * rng.normal(size=len(sparse)))
        assert theory.kl_of_means(kept @ other, mean_p, K, NOISE) > best
    # By the general formula (32), with the explicit inverse covariance.
    inverse = np.asarray(K + K @ K / NOISE)
    S = np.asarray(kept)
    direct = np.linalg.solve(S.T @ inverse @ S, S.T @ inverse @ mean_p)
    np.testing.assert_allclose(sparse, direct, rtol=1e-5)


def test_sparse_means_for_the_risk_and_how_far_the_quick_one_is(regression):
    K, cross, y, kept = regression
    mean_p, gram = theory.posterior_mean(K, y, NOISE), theory.expected_gram(cross)

    def excess(sparse):
        return float(theory.square_divergence(kept @ sparse, mean_p, gram))

    by_kl = theory.sparse_kl_mean(kept.T @ K @ kept, kept.T @ K, y, NOISE)
    exact = theory.sparse_risk_mean(gram, mean_p, kept)
    quick = {
        iterations: excess(
            theory.approximate_sparse_risk_mean(K, cross, y, NOISE, kept, iterations)
        )
        for iterations in (0, 10, 40)
    }
    assert excess(exact) < excess(by_kl)
    np.testing.assert_allclose(quick[0], excess(by_kl), rtol=1e-3)
    assert quick[10] - excess(exact) < 0.5 * (excess(by_kl) - excess(exact))
    np.testing.assert_allclose(quick[40], excess(exact), rtol=1e-2, atol=1e-8)


def test_the_power_plant_of_figure_1():
    plant = power_plant.Plant()
    q1, q2, q3 = power_plant.beliefs(plant)
    grid = np.linspace(0, 200, 400_001)
    p = np.exp(plant.log_prob(grid))
    mean = np.trapezoid(p * grid, grid)
    np.testing.assert_allclose(q2.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(q2.std**2, np.trapezoid(p * (grid - mean) ** 2, grid), rtol=1e-5)
    np.testing.assert_allclose(plant.danger, np.trapezoid(p[grid >= 100], grid[grid >= 100]), 1e-4)

    def reverse_kl(m, s):
        q = norm.pdf(grid, m, s)
        return np.trapezoid(q * (norm.logpdf(grid, m, s) - plant.log_prob(grid)), grid)

    least = reverse_kl(q1.mean, q1.std)
    for step in (0.1, -0.1):
        assert reverse_kl(q1.mean + step, q1.std) > least
        assert reverse_kl(q1.mean, q1.std + step) > least
    assert not plant.runs(plant.danger)
    assert [power_plant.excess_risk(plant, q) > 0 for q in (q1, q2, q3)] == [True, True, False]
    np.testing.assert_allclose(q3.danger(plant.critical), plant.danger, rtol=1e-9)

    def cross_entropy(s):
        m = plant.critical + s * norm.ppf(plant.danger)
        return -np.trapezoid(p * norm.logpdf(grid, m, s), grid)

    assert cross_entropy(q3.std) < min(cross_entropy(q3.std + 0.1), cross_entropy(q3.std - 0.1))


def test_the_picture_and_the_report(tmp_path, capsys):
    power_plant.main(str(tmp_path / "plant.png"))
    assert (tmp_path / "plant.png").stat().st_size > 10_000
    assert capsys.readouterr().out.count("shut down") == 2


def test_how_far_the_quick_mean_is_from_the_exact_one_is_what_the_page_says():
    """The numbers in docs/decisions_with_costs.md."""
    draw = np.random.default_rng(0)
    inputs = jnp.linspace(0.0, 1.0, 200)[:, None]
    shifted = jnp.asarray(draw.uniform(0.7, 1.3, (500, 1)))
    y = jnp.sin(8 * inputs[:, 0]) + 0.3 * jnp.asarray(draw.normal(size=200))
    kernel, kept = RBF(1.0, 0.1), jnp.eye(200)[:, ::40]
    K, cross = kernel.matrix(inputs, inputs), kernel.matrix(shifted, inputs)
    mean, gram = theory.posterior_mean(K, y, NOISE), theory.expected_gram(cross)

    def excess(sparse):
        return float(theory.square_divergence(kept @ sparse, mean, gram))

    least = excess(theory.sparse_risk_mean(gram, mean, kept))
    assert least == pytest.approx(0.2804, abs=1e-4)
    for iterations, above in {0: 0.0600, 5: 0.0203, 10: 0.0006, 20: 0.0}.items():
        quick = theory.approximate_sparse_risk_mean(K, cross, y, NOISE, kept, iterations)
        assert excess(quick) - least == pytest.approx(above, abs=1e-4)
