"""Loss-EM for a fitted exact classifier and given test rows.

Loss-EM needs the inputs of the decisions (`lossem` section 2.3, the transductive setting), their
distribution, and the costs of errors there.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float
from scipy import special

from directgp.errors import DirectGPError
from directgp.exact.classifier import ExactGP
from directgp.exact.error_costs import ErrorCosts
from directgp.exact.linearised_loss_em import Calibrated, linearised_loss_em
from directgp.exact.loss_em import loss_em
from directgp.exact.utility import check_bound
from directgp.likelihoods.bernoulli import BernoulliProbit
from directgp.linalg.blas_threads import one_blas_thread
from directgp.parameters import float64, on_device
from directgp.registry import Registry
from directgp.tables import check_weights

_LOG2_DRAWS = 10
"""log2 of the number of draws of q for the M-step of loss-EM."""

calibrations = Registry("calibrated inference")
"""By name: (rows, test_rows, costs, bound, weights, seed) → Calibrated."""


@calibrations.register("loss-em")
def _loss_em() -> Callable[..., Calibrated]:
    def run(rows, test_rows, costs, bound, *, weights, seed):
        points = on_device(normal_points(rows.shape[1], _LOG2_DRAWS, seed))
        algorithm = eqx.filter_jit(loss_em)
        return algorithm(rows, test_rows, costs, bound, points, weights=weights)

    return run


@calibrations.register("linearised-loss-em")
def _linearised() -> Callable[..., Calibrated]:
    return _with_e_step("laplace")


@calibrations.register("ep-loss-em")
def _with_ep() -> Callable[..., Calibrated]:
    return _with_e_step("ep")


def _with_e_step(name: str) -> Callable[..., Calibrated]:
    def run(rows, test_rows, costs, bound, *, weights, seed):
        algorithm = eqx.filter_jit(linearised_loss_em)
        return algorithm(rows, test_rows, costs, bound, e_step=name, weights=weights)

    return run


def normal_points(dimension: int, log2_count: int, seed: int = 0) -> Float[np.ndarray, "J M"]:
    """Scrambled Sobol points as standard normal draws.

    Args:
        dimension: M.
        log2_count: log2 of the number of draws.
        seed: seed of the scrambling.
    """
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
    """Posterior and decisions at `X_test`, optimised jointly by loss-EM.

    Args:
        fitted: a probit classifier, exact or sparse; its kernel is kept.
        X_test: the inputs of the decisions.
        false_positive: the cost of deciding 1 if y is 0: one number, or one per row.
        false_negative: the cost of deciding 0 if y is 1.
        inference: "loss-em" (`lossem` Table 1), "linearised-loss-em" (Tables 2 and 3) or
            "ep-loss-em", the same with EP in the place of Laplace's approximation.
        bound: M of `lossem` eq. (7), by default the largest cost; ∞ is the plain approximation.
        weights: how often each of these rows occurs, by default equally. On training rows, the
            density ratio p_test/p_train accounts for covariate shift.
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
    test = fitted.gp.features(on_device(fitted.inputs.forward_inputs(X_test)))
    parts = (false_positive, false_negative, limit)
    alarm, miss, bound_M = (on_device(part, np.float64) for part in parts)
    with one_blas_thread():
        found = calibrations.create(inference)(
            fitted.rows,
            test.scaled,
            ErrorCosts(alarm, miss),
            bound_M,
            weights=on_device(share / share.sum()),
            seed=seed,
        )
        return jax.block_until_ready(found)
