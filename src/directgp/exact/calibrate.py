"""A fitted exact classifier, its posterior fitted again to decisions at rows that are known.

Loss-EM and its relatives need the inputs at which decisions are to be made (`lossem` section 2.3,
the transductive setting), their distribution, and what mistakes cost there.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import special

from directgp.errors import DirectGPError
from directgp.exact.classifier import ExactGP
from directgp.exact.linearised_loss_em import Calibrated, linearised_loss_em
from directgp.exact.loss_em import loss_em
from directgp.exact.utility import check_bound
from directgp.likelihoods.bernoulli import BernoulliProbit
from directgp.linalg.blas_threads import one_blas_thread
from directgp.parameters import float64
from directgp.registry import Registry
from directgp.tables import check_weights

_LOG2_DRAWS = 10
"""Of q, for the M-step of loss-EM."""

calibrations = Registry("calibrated inference")
"""By name: (rows, test_rows, false_positive, false_negative, bound, weights, seed) → Calibrated."""


@calibrations.register("loss-em")
def _loss_em() -> Callable[..., Calibrated]:
    def run(rows, test_rows, alarm, miss, bound, *, weights, seed):
        points = jnp.asarray(normal_points(rows.shape[1], _LOG2_DRAWS, seed))
        algorithm = eqx.filter_jit(loss_em)
        return algorithm(rows, test_rows, alarm, miss, bound, points, weights=weights)

    return run


@calibrations.register("linearised-loss-em")
def _linearised() -> Callable[..., Calibrated]:
    return _with_e_step("laplace")


@calibrations.register("ep-loss-em")
def _with_ep() -> Callable[..., Calibrated]:
    return _with_e_step("ep")


def _with_e_step(name: str) -> Callable[..., Calibrated]:
    def run(rows, test_rows, alarm, miss, bound, *, weights, seed):
        algorithm = eqx.filter_jit(linearised_loss_em)
        return algorithm(rows, test_rows, alarm, miss, bound, e_step=name, weights=weights)

    return run


def normal_points(dimension: int, log2_count: int, seed: int = 0) -> Float[np.ndarray, "J M"]:
    """2^log2_count scrambled Sobol points as standard normal draws."""
    from scipy import stats  # slow to import

    sobol = stats.qmc.Sobol(dimension, scramble=True, rng=seed).random_base2(log2_count)
    return special.ndtri(np.clip(sobol, 1e-12, 1 - 1e-12))


@float64
def calibrate(
    fitted: ExactGP,
    X_test: Float[np.ndarray, "S D"],
    false_positive: Any,
    false_negative: Any,
    *,
    inference: str = "linearised-loss-em",
    bound: float | None = None,
    weights: Any = None,
    seed: int = 0,
) -> Calibrated:
    """Posterior and decisions at `X_test`, each fitted to the other.

    Args:
        fitted: a probit classifier, exact or sparse; its kernel stays what it is.
        X_test: the inputs that decisions are for.
        false_positive: what saying 1 costs where y is 0: a number, or one for each of these rows.
        false_negative: what saying 0 costs where y is 1.
        inference: "loss-em" (`lossem` Table 1), "linearised-loss-em" (Tables 2 and 3) or
            "ep-loss-em", the same with EP in the place of Laplace's approximation.
        bound: M of `lossem` eq. (7), by default the largest cost; ∞ is the plain approximation.
        weights: how often each of these rows is met, by default all alike. Ratios of densities,
            p_test/p_train at training rows, stand for test inputs from elsewhere.
        seed: of the draws for the M-step of loss-EM.
    """
    if not isinstance(fitted.likelihood, BernoulliProbit):
        raise DirectGPError(
            f"{inference} is for the probit link, got {type(fitted.likelihood).__name__}; use "
            "link='probit', or inference='laplace' or 'ep'"
        )
    largest = max(float(np.max(false_positive)), float(np.max(false_negative)))
    limit = largest if bound is None else bound
    check_bound(limit, false_positive=false_positive, false_negative=false_negative)
    share = check_weights(weights, len(X_test))
    test = fitted.gp.features(jnp.asarray(fitted.inputs.forward_inputs(X_test)))
    costs = (jnp.asarray(part, dtype=float) for part in (false_positive, false_negative, limit))
    with one_blas_thread():
        found = calibrations.create(inference)(
            fitted.rows,
            test.scaled,
            *costs,
            weights=jnp.asarray(share / share.sum()),
            seed=seed,
        )
        return jax.block_until_ready(found)
