"""The attack by large counts: what a fit costs must not grow with the largest count."""

import time
import warnings
from itertools import product
from typing import Any

import numpy as np

import directgp as dg
from tests.attack.numbers import SOUND, fault_in
from tests.attack.result import Result, Tell, refusal, silent

LIKELIHOODS = (
    "negative-binomial", "poisson", "negative-binomial-softplus", "poisson-softplus",
)  # fmt: skip
LOSSES = ("direct-pinball", "direct-crps", "direct-log")
_SMALL, _LARGE = 1e2, 1e6
_MOST_RATIO, _LEAST_SECONDS = 3.0, 5.0
_DEEP = dg.Deep(num_inducing=4, width=2, num_sites=2)


def attack(count: int, seed: int = 0, tell: Tell = silent, few: bool = False) -> Result:
    """Fit counts to 100 and to 1,000,000 with two layers (or one), `count` fits, in pairs."""
    result = Result()
    model = dg.Sparse(num_inducing=4) if few else _DEEP
    for loss, likelihood in list(product(LOSSES, LIKELIHOODS))[: max(1, count // 2)]:
        _fit(_SMALL, likelihood, loss, model, seed)  # compiles
        seconds = {}
        for most in (_SMALL, _LARGE):
            began = time.process_time()
            with result.timed():
                outcome = _fit(most, likelihood, loss, model, seed)
            seconds[most] = time.process_time() - began
            if seconds[most] > max(_LEAST_SECONDS, _MOST_RATIO * seconds[_SMALL]):
                outcome = f"{seconds[most]:.1f} s, with small counts {seconds[_SMALL]:.1f} s"
            said = outcome if outcome in (SOUND, "refused") else f"to {most:g}: {outcome}"
            result.add(f"{loss}, {likelihood}", said, (SOUND, "refused"), tell)
    return result


def _fit(most: float, likelihood: str, loss: str, model: Any, seed: int) -> str:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 2))
    y = np.round(np.exp(rng.uniform(0, np.log(most), 24)))
    y[0] = most
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = dg.fit(
                X, y, likelihood=likelihood, loss=loss, model=model, beta=1.0, seed=seed,
                training=dg.Training(max_steps=20), verbose=False,
            )  # fmt: skip
            predictive = fitted.predict(X)
            predictive.log_prob(y)
            return fault_in(predictive, "counts") or SOUND
        except Exception as error:
            return refusal(error)
