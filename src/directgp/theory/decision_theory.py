"""Evaluation of approximate inference by posterior risk: `lossem` sections 2.2, 4.1 and 5.

The loss divergence of an approximation q is the excess risk of the Bayes decision h_q under q:
d_L(p ‖ q) = R_p(h_q) − R_p(h_p) ≥ 0.
"""

import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Bool, Float

from directgp.exact.error_costs import ErrorCosts

# ---------------------------------------------------------------- classification


def risk(
    probability: Float[Array, "S"],
    decisions: Bool[Array, "S"],
    costs: ErrorCosts,
) -> Float[Array, ""]:
    """R_p(h): the expected cost of decisions h (`lossem` eq. 13).

    Args:
        probability: P(y = 1) of every row.
        decisions: True for 1.
        costs: the costs of the two errors.
    """
    return jnp.mean(costs.expected(probability, decisions))


def loss_divergence(
    p: Float[Array, "S"],
    q: Float[Array, "S"],
    costs: ErrorCosts,
) -> Float[Array, ""]:
    """d_L(p ‖ q) = R_p(h_q) − R_p(h_p) for two predictives of the test rows (`lossem` eq. 5).

    Args:
        p: P(y = 1) of every row under the posterior.
        q: the same under the approximation.
        costs: the costs of the two errors.
    """
    by_q, by_p = costs.bayes_decisions(q), costs.bayes_decisions(p)
    return risk(p, by_q, costs) - risk(p, by_p, costs)


def normalised_risk(
    p: Float[Array, "S"],
    decisions: Bool[Array, "S"],
    costs: ErrorCosts,
) -> Float[Array, ""]:
    """R̃: excess risk, 0 for the best decisions and 1 for always the opposite (`lossem` eq. 28).

    Args:
        p: P(y = 1) of every row.
        decisions: True for 1.
        costs: the costs of the two errors.
    """
    best = costs.bayes_decisions(p)
    least, most = risk(p, best, costs), risk(p, ~best, costs)
    excess, span = jnp.maximum(risk(p, decisions, costs) - least, 0.0), most - least
    # If all p are at the threshold, all decisions have the same risk.
    return jnp.where(span > 0, excess / jnp.where(span > 0, span, 1.0), 0.0)


# ---------------------------------------------------------------- regression, square cost


def posterior_mean(
    K: Float[Array, "N N"], y: Float[Array, "N"], noise: Float[Array, ""]
) -> Float[Array, "N"]:
    """μ_p = (K + σ²I)⁻¹ y: the posterior mean of θ, where f(x) = k(x, X) θ (`lossem` 7.2).

    Args:
        K: kernel matrix of the training rows.
        y: targets.
        noise: σ².
    """
    return cho_solve(cho_factor(_noisy(K, noise)), y)


def expected_gram(cross: Float[Array, "S N"]) -> Float[Array, "N N"]:
    """Λ = E_x[k(X, x) k(x, X)] over the test inputs (`lossem` eq. 21)."""
    return cross.T @ cross / cross.shape[0]


def square_divergence(
    mean_q: Float[Array, "N"], mean_p: Float[Array, "N"], gram: Float[Array, "N N"]
) -> Float[Array, ""]:
    """d_L(p ‖ q) = (μ_q − μ_p)ᵀ Λ (μ_q − μ_p) for the square cost (`lossem` eq. 20).

    Args:
        mean_q: μ_q.
        mean_p: μ_p.
        gram: Λ.
    """
    gap = mean_q - mean_p
    return gap @ gram @ gap


def kl_of_means(
    mean_q: Float[Array, "N"],
    mean_p: Float[Array, "N"],
    K: Float[Array, "N N"],
    noise: Float[Array, ""],
) -> Float[Array, ""]:
    """½ (μ_q − μ_p)ᵀ Σ_p⁻¹ (μ_q − μ_p), Σ_p⁻¹ = K + K²/σ²: the part of KL(q ‖ p) in μ_q (eq. 22).

    Args:
        mean_q: coefficients θ of the approximation.
        mean_p: coefficients θ of the exact posterior.
        K: kernel matrix of the training rows.
        noise: σ².
    """
    pulled = K @ (mean_q - mean_p)
    return 0.5 * ((mean_q - mean_p) @ pulled + pulled @ pulled / noise)


def sparse_kl_mean(
    K_ss: Float[Array, "k k"],
    K_sd: Float[Array, "k N"],
    y: Float[Array, "N"],
    noise: Float[Array, ""],
) -> Float[Array, "k"]:
    """(σ² K_SS + K_SD K_DS)⁻¹ K_SD y: the mean on k points that is best in KL (`lossem` eq. 34).

    O(k³ + N k²); it does not depend on the test inputs.

    Args:
        K_ss: kernel matrix of the k points.
        K_sd: of the k points and the training rows.
        y: targets.
        noise: σ².
    """
    return _solve(noise * K_ss + K_sd @ K_sd.T, K_sd @ y)


def sparse_risk_mean(
    gram: Float[Array, "N N"], mean_p: Float[Array, "N"], kept: Float[Array, "N k"]
) -> Float[Array, "k"]:
    """Λ_SS⁻¹ Λ_SD μ_p: the mean on k points that is best in d_L (`lossem` 7.2).

    O(N³ + S N²), with μ_p and Λ.

    Args:
        gram: Λ.
        mean_p: μ_p.
        kept: columns of the identity that select the k points.
    """
    return _solve(kept.T @ gram @ kept, kept.T @ (gram @ mean_p))


def approximate_sparse_risk_mean(
    K: Float[Array, "N N"],
    cross: Float[Array, "S N"],
    y: Float[Array, "N"],
    noise: Float[Array, ""],
    kept: Float[Array, "N k"],
    iterations: int,
) -> Float[Array, "k"]:
    """`sparse_risk_mean` in O(N² (iterations + k) + S N k): μ_p by conjugate gradients, without Λ.

    Starting at the KL mean, 0 iterations give `sparse_kl_mean` and N give `sparse_risk_mean`; a few
    are close to the latter (the open question of `lossem` 4.1).

    Args:
        K: kernel matrix of the training rows.
        cross: of test rows and training rows.
        y: targets.
        noise: σ².
        kept: columns of the identity that select the k points.
        iterations: of conjugate gradients.
    """
    start = kept @ sparse_kl_mean(kept.T @ K @ kept, kept.T @ K, y, noise)
    mean_p, _ = cg(lambda v: K @ v + noise * v, y, x0=start, tol=0.0, maxiter=iterations)
    at_test = cross @ kept
    return _solve(at_test.T @ at_test, at_test.T @ (cross @ mean_p))


def _noisy(K: Array, noise: Array) -> Array:
    return K + noise * jnp.eye(K.shape[0], dtype=K.dtype)


def _solve(matrix: Array, right: Array) -> Array:
    """Solve with a ridge of 10⁻¹² of the trace, as Gram matrices are often singular to rounding."""
    ridge = 1e-12 * jnp.trace(matrix) / matrix.shape[0]
    return cho_solve(cho_factor(_noisy(matrix, ridge)), right)
