"""Loss-calibrated EP, row by row: the utility inside the inference, one component at a time.

The posterior gain of decisions h is linear in the probabilities that they are right:

    G(h) = Σ_s w_s [ (M − c_s) + c_s P(y_s = h_s | D) ],
    P(y_s = h_s | D) = Z(D ∪ (x_s, h_s)) / Z(D)

so each component of the utility is one more probit observation, and EP can estimate each ratio
with all sites refined in its presence, instead of reading it off a q fitted without it. That costs
a few sweeps per row and keeps the skewness of the posterior that a single Gaussian loses: it
matters where thresholds lie in a tail, as they do for asymmetric costs.
"""

import jax.numpy as jnp
from jax import lax
from jax.nn import sigmoid
from jaxtyping import Array, Float

from directgp.exact.ep import Propagated, Sites, ep
from directgp.exact.target import Target


def ep_by_row(
    target: Target,
    plain: Propagated,
    rows: Float[Array, "S M"],
    *,
    tolerance: float = 1e-6,
) -> Float[Array, "S"]:
    """P(y_s = 1 | D) from the EP evidence with and without each row.

    Args:
        target: likelihood and utility of the training rows.
        plain: `ep(target)`.
        rows: features of the rows to predict.
        tolerance: the tolerance of EP.
    """

    def log_ratio(row: Float[Array, "M"]) -> Float[Array, ""]:
        # The first site of the sweep, so that the others are refined given it.
        extended = Target(jnp.concatenate([row[None], target.rows]), target.likelihood)
        zero = jnp.zeros(1, row.dtype)
        sites = Sites(
            jnp.concatenate([zero, plain.sites.precision]),
            jnp.concatenate([zero, plain.sites.shift]),
            plain.sites.utility_precision,
            plain.sites.utility_shift,
        )
        return ep(extended, sites, tolerance=tolerance).posterior.log_evidence

    # One after the other: XLA's thread pool on the CPU can lock up on such loops under vmap.
    both = lax.map(lambda row: log_ratio(row) - log_ratio(-row), rows)
    return sigmoid(both)
