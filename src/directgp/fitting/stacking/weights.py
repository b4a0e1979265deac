"""Weights of a mixture of models that minimise its out-of-fold loss.

The log loss of a mixture is minimised by EM; CRPS and square loss of a mixture are quadratic in the
weights, and are minimised by projected gradients.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

_PRIOR = 0.5
"""Prior rows in favour of each member, so that few rows do not exclude a member."""
_STEPS = 3000
_CLOSE = 1e-10


def log_loss_weights(
    log_density: Float[np.ndarray, "N K"], row_weight: Float[np.ndarray, "N"]
) -> Float[np.ndarray, "K"]:
    """The weights w that maximise Σ_n log Σ_k w_k p_k(y_n), shrunk slightly towards equal weights.

    Args:
        log_density: log p_k(y_n) by each of K members, out of fold.
        row_weight: of the rows.

    >>> log_loss_weights(np.log([[0.9, 0.1]] * 50), np.ones(50)).round(2).tolist()
    [0.99, 0.01]
    """
    members = log_density.shape[1]
    density = np.exp(log_density - np.max(log_density, axis=1, keepdims=True))
    weight = np.full(members, 1.0 / members)
    for _ in range(_STEPS):
        expected = density @ weight
        following = weight * ((row_weight / expected) @ density) + _PRIOR
        following /= following.sum()
        if np.max(np.abs(following - weight)) < _CLOSE:
            break
        weight = following
    return weight


def quadratic_weights(
    linear: Float[np.ndarray, "K"], quadratic: Float[np.ndarray, "K K"]
) -> Float[np.ndarray, "K"]:
    """The weights w ≥ 0 that sum to 1 and minimise linearᵀw + ½ wᵀ quadratic w.

    Args:
        linear: coefficients.
        quadratic: a positive semi-definite matrix.
    """
    members = len(linear)
    weight = np.full(members, 1.0 / members)
    step = 1.0 / max(float(np.linalg.norm(quadratic, 2)), 1e-12)
    for _ in range(_STEPS):
        following = _on_simplex(weight - step * (linear + quadratic @ weight))
        if np.max(np.abs(following - weight)) < _CLOSE:
            break
        weight = following
    return weight


def square_loss_weights(
    mean: Float[np.ndarray, "N K"],
    y: Float[np.ndarray, "N"],
    row_weight: Float[np.ndarray, "N"],
) -> Float[np.ndarray, "K"]:
    """The weights that minimise Σ_n (y_n − Σ_k w_k mean_nk)².

    Args:
        mean: predictions of K members, out of fold.
        y: targets.
        row_weight: of the rows.
    """
    share = row_weight / row_weight.sum()
    errors = mean - y[:, None]
    return quadratic_weights(np.zeros(mean.shape[1]), 2.0 * errors.T @ (errors * share[:, None]))


def crps_weights(
    mean: Float[np.ndarray, "S N"],
    deviation: Float[np.ndarray, "S N"],
    inner: Float[np.ndarray, "S"],
    owner: np.ndarray,
    y: Float[np.ndarray, "N"],
    row_weight: Float[np.ndarray, "N"],
) -> Float[np.ndarray, "K"]:
    """The weights of members that minimise the mean CRPS of their mixture.

    Args:
        mean: of S Gaussian components at every row, out of fold.
        deviation: of the components.
        inner: weight of a component within its member.
        owner: the member that each component belongs to.
        y: targets.
        row_weight: of the rows.
    """
    share, members = row_weight / row_weight.sum(), int(owner.max()) + 1
    linear, quadratic = np.zeros(members), np.zeros((members, members))
    for i in range(len(mean)):
        linear[owner[i]] += inner[i] * share @ mean_distance(y - mean[i], deviation[i])
        for j in range(len(mean)):
            both = np.hypot(deviation[i], deviation[j])
            apart = share @ mean_distance(mean[i] - mean[j], both)
            quadratic[owner[i], owner[j]] -= inner[i] * inner[j] * apart
    return quadratic_weights(linear, quadratic)


def mean_distance(
    offset: Float[np.ndarray, "N"], deviation: Float[np.ndarray, "N"]
) -> Float[np.ndarray, "N"]:
    """E|offset + deviation · z| for a standard Gaussian z.

    Args:
        offset: the mean.
        deviation: the standard deviation.
    """
    z = offset / deviation
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return deviation * (2.0 * density + z * (2.0 * ndtr(z) - 1.0))


def _on_simplex(values: Float[np.ndarray, "K"]) -> Float[np.ndarray, "K"]:
    """The nearest point with coordinates ≥ 0 that sum to 1 (Duchi et al. 2008)."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(values) + 1)
    threshold = excess[np.flatnonzero(ordered > excess)[-1]]
    return np.maximum(values - threshold, 0.0)
