"""Consistency checks of a stored exact classifier: shapes and values of its arrays."""

import numpy as np

from directgp.decisions.exact_inference import inferences
from directgp.errors import DirectGPError
from directgp.fitting.fitted_exact import FittedExact
from directgp.likelihoods import BernoulliLogit, BernoulliProbit
from directgp.persistence.gp_checks import check_column_names, check_scales
from directgp.persistence.model_shapes import check_kernel
from directgp.persistence.shape_checks import check_shape
from directgp.persistence.stack_checks import MOST_ROWS
from directgp.persistence.stored_numbers import check_numbers

_ASYMMETRY = 1e-6


def check_exact(fitted: FittedExact) -> None:
    """Raise a `ValueError` if the parts of an exact classifier are inconsistent."""
    exact = fitted.exact
    columns = check_scales("the scales of the inputs", fitted.inputs)
    check_column_names(fitted)
    if fitted.num_outputs != 1 or fitted.inference not in inferences or not fitted.seconds >= 0:
        raise DirectGPError("an exact classifier has one output and a known inference")
    calibrated = inferences.create(fitted.inference).calibrated
    probit = type(exact.likelihood) is BernoulliProbit
    if not probit and type(exact.likelihood) is not BernoulliLogit:
        raise DirectGPError(f"a link cannot be a {type(exact.likelihood).__name__}")
    if not probit and (calibrated or fitted.inference == "loss-ep"):
        raise DirectGPError(f"{fitted.inference} is for the probit link")
    _check_posterior(fitted, columns)
    record = fitted.calibration
    if (record is not None) != calibrated:
        raise DirectGPError("decisions at test rows are stored for loss-EM and for no other method")
    if record is not None:
        check_shape("the decisions", record.decisions.shape, None)
        if record.decisions.dtype != np.bool_ or not record.rounds >= 0:
            raise DirectGPError("the decisions of loss-EM are invalid")


def _check_posterior(fitted: FittedExact, columns: int) -> None:
    exact = fitted.exact
    support, rows = (check_numbers(np.asarray(part)) for part in (exact.gp.support, exact.rows))
    check_shape("the support", support.shape, None, columns)
    check_shape("the rows", rows.shape, None, len(support))
    if max(rows.shape) > MOST_ROWS:
        raise DirectGPError(f"an exact GP has 1 to {MOST_ROWS:,} rows, got {max(rows.shape):,}")
    check_kernel(exact.gp.kernel, columns)
    q = exact.posterior
    check_shape("the posterior mean", check_numbers(np.asarray(q.mean)).shape, len(support))
    covariance = check_numbers(np.asarray(q.covariance))
    check_shape("the posterior covariance", covariance.shape, len(support), len(support))
    check_numbers(np.asarray(q.log_evidence))
    check_numbers(np.asarray(q.sweeps))
    size = np.max(np.diagonal(covariance))
    uneven = np.max(np.abs(covariance - covariance.T))
    if not np.all(np.diagonal(covariance) > 0) or uneven > _ASYMMETRY * size:
        raise DirectGPError("the posterior covariance is not symmetric with positive diagonal")
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise DirectGPError("the posterior covariance is not positive definite") from None
