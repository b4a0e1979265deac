"""The two links in NumPy, with the derivatives that Laplace's approximation by rows needs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

_LOG_ROOT_2PI = 0.9189385332046727

Function = Callable[[np.ndarray], np.ndarray]


class Link(NamedTuple):
    """log σ(z) and its first three derivatives; `curvature` is minus the second."""

    log: Function
    slope: Function
    curvature: Function
    third: Function


def _logistic_curvature(z: np.ndarray) -> np.ndarray:
    one = expit(z)
    return one * (1.0 - one)


def _logistic_third(z: np.ndarray) -> np.ndarray:
    one = expit(z)
    return -one * (1.0 - one) * (1.0 - 2.0 * one)


def _ratio(z: np.ndarray) -> np.ndarray:
    """N(z)/Φ(z), in log space."""
    return np.exp(-0.5 * z**2 - _LOG_ROOT_2PI - log_ndtr(z))


def _probit_curvature(z: np.ndarray) -> np.ndarray:
    ratio = _ratio(z)
    # It lies in (0, 1); far out in the left tail its two terms cancel.
    return np.clip(ratio * (z + ratio), 0.0, 1.0)


def _probit_third(z: np.ndarray) -> np.ndarray:
    ratio = _ratio(z)
    third = ratio * ((z + ratio) * (z + 2.0 * ratio) - 1.0)
    return np.where(z < -30.0, 0.0, third)  # the curvature is 1 there


LOGISTIC = Link(log_expit, lambda z: expit(-z), _logistic_curvature, _logistic_third)
PROBIT = Link(log_ndtr, _ratio, _probit_curvature, _probit_third)
