"""Effective number of components of a mixture."""

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

_NODES = 20


def effective_components(
    mean: Float[np.ndarray, "S N"],
    variance: Float[np.ndarray, "S N"],
    log_weights: Float[np.ndarray, "S"],
) -> Float[np.ndarray, "N"]:
    """Exp I(s; y) at every row, with the mutual information I of component and y.

        I = Σ_s w_s KL(p_s ‖ Σ_r w_r p_r),   p_s = N(mean_s, variance_s)

    It is 1 if all components are equal, and exp(entropy of the weights) if they do not overlap: S
    for S equal weights. Duplicate components, and those without weight, do not count.

    Args:
        mean: of the components.
        variance: of the components.
        log_weights: of the components.

    >>> apart, alike = np.array([[0.0], [99.0]]), np.zeros((2, 1))
    >>> [effective_components(m, np.ones((2, 1)), np.log([0.5, 0.5])).round(3)[0].item()
    ...  for m in (apart, alike)]
    [2.0, 1.0]
    """
    nodes, rule = np.polynomial.hermite_e.hermegauss(_NODES)
    rule = rule / rule.sum()
    information = np.zeros(mean.shape[1])
    for s, weight in enumerate(np.exp(log_weights)):
        y = mean[s] + np.sqrt(variance[s]) * nodes[:, None]
        each = -0.5 * (np.log(variance)[:, None] + (y - mean[:, None]) ** 2 / variance[:, None])
        whole = logsumexp(each + log_weights[:, None, None], axis=0)
        information += weight * (rule @ (each[s] - whole))
    return np.exp(np.maximum(information, 0.0))
