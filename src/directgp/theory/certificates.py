"""Certificates: upper bounds of a model's expected loss that hold with probability 1 − δ.

Two kinds, both for losses between 0 and 1 and independent rows of one distribution:

* `holdout_certificate`: for predictions, from rows that were not used in training.
* `pac_bayes_certificate`: for values f drawn from q, from rows that q may have been trained on, if
  the *prior* (kernel, inducing inputs, scales) is from other rows. It depends on KL(q ‖ p).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from directgp.divergences import KL
from directgp.errors import DirectGPError
from directgp.fitting.fitted import FittedGP
from directgp.models import SparseGP
from directgp.parameters import float64, is_learned
from directgp.training.evaluate import condition, marginals

_HALVINGS = 60


class Certificate(NamedTuple):
    """With probability `confidence` over the rows it was made from, the expected loss ≤ `bound`."""

    empirical: float
    """The average loss of these rows."""
    bound: float
    rows: int
    confidence: float
    divergence: float = 0.0
    """KL(q ‖ p), where q may depend on the rows."""


def kl_inverse(empirical: float, most: float) -> float:
    """The largest p with kl(empirical ‖ p) ≤ most, for two Bernoulli distributions.

    Args:
        empirical: the first probability.
        most: the bound of the divergence.

    >>> round(kl_inverse(0.0, 0.1), 6) == round(1 - math.exp(-0.1), 6)
    True
    """
    low, high = empirical, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _kl(empirical, middle) > most else (middle, high)
    return high


def _kl(q: float, p: float) -> float:
    first = 0.0 if q <= 0 else q * math.log(q / p)
    second = 0.0 if q >= 1 else (1 - q) * (math.log1p(-q) - math.log1p(-p) if p < 1 else math.inf)
    return first + second


def holdout_certificate(losses: Any, *, confidence: float = 0.95, models: int = 1) -> Certificate:
    """A bound of the expected loss of a fixed model, from its losses on held-out rows.

        kl(empirical ‖ expected) ≤ log(models/δ) / n      (Chernoff, Hoeffding 1963; union bound)

    Args:
        losses: the loss of every row [n], between 0 and 1: divide by the largest possible one.
        confidence: 1 − δ.
        models: the number of models among which these rows were used to choose (such as several
            β); the bound holds for all of them at once.

    >>> holdout_certificate(np.zeros(100)).bound < 0.03
    True
    """
    values = np.asarray(losses, float)
    _check_losses(values)
    _check_confidence(confidence)
    if not models >= 1:
        raise DirectGPError(f"models must be at least 1, got {models}")
    empirical, rows = float(values.mean()), len(values)
    most = math.log(models / (1 - confidence)) / rows
    return Certificate(empirical, kl_inverse(empirical, most), rows, confidence)


def pac_bayes_bound(
    empirical: float, divergence: float, rows: int, *, confidence: float = 0.95
) -> float:
    """kl(empirical ‖ expected) ≤ (KL(q ‖ p) + log(2√n/δ)) / n, solved for the expected loss.

    Seeger (2002), Maurer (2004): for all q at once, so q may be chosen by the n rows; p may not.
    Both risks are averages over q of losses between 0 and 1.

    Args:
        empirical: the average loss of draws from q at the n rows.
        divergence: KL(q ‖ p).
        rows: n.
        confidence: 1 − δ.
    """
    _check_confidence(confidence)
    most = (divergence + math.log(2 * math.sqrt(rows) / (1 - confidence))) / rows
    return kl_inverse(empirical, most)


@float64
def pac_bayes_certificate(
    fitted: FittedGP,
    X: Any,
    y: Any,
    *,
    tolerance: float | None = None,
    confidence: float = 0.95,
) -> Certificate:
    """A bound of the expected loss of a value f drawn from q, at a new row.

    The loss is 1 where f is wrong: for two classes where its sign is, for numbers where it is
    further than `tolerance` from y (Reeb et al. 2018). The prediction by the mean of q is wrong at
    most twice as often for two classes, because f is wrong at least half of the time then.

    It holds only if the *prior* does not depend on these rows: fit hyperparameters on other rows,
    then only q(u), ``fit(X, y, model=FixedHyperparameters(earlier), beta="pac-bayes")``. It is
    checked that hyperparameters were fixed, but not that the rows are others.

    Args:
        fitted: one output, numbers or two classes, hyperparameters fixed.
        X: the rows that q was trained on (or any others), [n D].
        y: their targets [n].
        tolerance: how far off a number may be, in its units.
        confidence: 1 − δ.
    """
    _check_fixed(fitted)
    targets = np.asarray(fitted.likelihood.check_targets(y))
    q = marginals(condition(fitted.gp.model, "float64"), fitted.model_inputs(X))
    if len(targets) != q.mean.shape[1]:
        raise DirectGPError(f"X has {q.mean.shape[1]} rows and y has {len(targets)}")
    mean, deviation = np.asarray(q.mean)[..., 0], np.sqrt(np.asarray(q.variance)[..., 0])
    if fitted.likelihood.support == "classes":
        side = 2.0 * targets - 1.0
        wrong = norm.cdf(-side * mean / deviation)
    else:
        scale, shift = float(fitted.targets.scale[0]), float(fitted.targets.shift[0])
        if tolerance is None or not tolerance > 0:
            raise DirectGPError(
                f"numbers need a tolerance above 0 within which f is right, got {tolerance}"
            )
        error, width = (targets - shift) / scale - mean, tolerance / scale
        wrong = norm.sf((width - error) / deviation) + norm.cdf((-width - error) / deviation)
    empirical = float(np.mean(np.exp(np.asarray(q.log_weights)) @ wrong))
    divergence = sum(float(KL()(part)) for part in fitted.gp.model.posteriors)
    bound = pac_bayes_bound(empirical, divergence, len(targets), confidence=confidence)
    return Certificate(empirical, bound, len(targets), confidence, divergence)


def _check_fixed(fitted: Any) -> None:
    if not isinstance(fitted, FittedGP):
        raise DirectGPError(
            f"a PAC-Bayes certificate is for a sparse GP of `fit`, got a {type(fitted).__name__}; "
            "use holdout_certificate with losses of rows that training has not seen"
        )
    likelihood = fitted.likelihood
    if fitted.num_outputs > 1 or likelihood.num_latents > 1 or likelihood.support == "counts":
        raise DirectGPError(
            "a PAC-Bayes certificate is for one output of numbers or two classes; use "
            "holdout_certificate with losses of rows that training has not seen"
        )
    model = fitted.gp.model
    if not isinstance(model, SparseGP):
        raise DirectGPError(
            "a PAC-Bayes certificate is for a sparse GP of one layer, got a "
            f"{type(model).__name__}; use holdout_certificate with losses of rows that training "
            "has not seen"
        )
    if is_learned((model.kernel, model.inducing, model.mean_function)):
        raise DirectGPError(
            "the prior was learned from the same rows as q, and no bound holds then; fit "
            "hyperparameters on other rows and give model=FixedHyperparameters(earlier)"
        )


def _check_losses(values: Float[np.ndarray, "n"]) -> None:
    if values.ndim != 1 or len(values) == 0 or not ((values >= 0) & (values <= 1)).all():
        raise DirectGPError(
            "a certificate needs one loss between 0 and 1 for every row; divide losses by the "
            "largest that there can be"
        )


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise DirectGPError(f"confidence must be between 0 and 1, got {confidence}; use 0.95")
