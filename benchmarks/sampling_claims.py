"""The DLM paper's claims on sampling times: the hybrid sampler, and bMC against uPS per second.

Exact draws from q(f) p(y | f) as in section 1 of its supplement: proposals N(μ, n v) with the
largest integer n ≤ 10 for which the bound by max p(y | f) holds, row by row in Python; the hybrid
of two rounds of all rows at once, then row by row; and this library's samplers.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln, log_ndtr

from benchmarks.problem import make_data
from benchmarks.timing import Contention, alternate, wait_until_quiet
from directgp.divergences import KL
from directgp.expectations import (
    EnvelopeSampler,
    Expectation,
    MonteCarlo,
    ProductSampling,
    TiltedSampler,
    WideSampler,
    choose_expectation,
)
from directgp.fitting.prepare import prepare
from directgp.fitting.specs import Sparse
from directgp.likelihoods import likelihoods
from directgp.losses import Direct, LogLoss
from directgp.marginals import Marginals
from directgp.objective import Objective
from directgp.theory.gradients import gradient_statistics

_WIDEST = 10


class Rows(NamedTuple):
    """q = N(mean, variance) and y of every row."""

    mean: np.ndarray
    variance: np.ndarray
    y: np.ndarray


LogProb = Callable[[float, float], float]


def _poisson(y, f):
    return y * f - np.exp(f) - gammaln(y + 1.0)


def _probit(y, f):
    return log_ndtr((2.0 * y - 1.0) * f)


def _poisson_peak(y: float) -> float:
    return math.log(y) if y > 0 else -math.inf


def _probit_peak(y: float) -> float:
    return math.inf if y else -math.inf


KINDS = {"poisson": (_poisson, _poisson_peak), "bernoulli": (_probit, _probit_peak)}


def multiple(log_prob: LogProb, y: float, peak: float, mean: float, variance: float) -> int:
    """The largest n ≤ 10 whose bound holds for one row (`dlm-supp` section 1)."""
    highest_of_all = log_prob(y, peak) if math.isfinite(peak) else 0.0
    for n in range(_WIDEST, 1, -1):
        radius = math.sqrt(variance * math.log(n) / (1.0 - 1.0 / n))
        nearest = min(max(peak, mean - radius), mean + radius)
        if log_prob(y, nearest) + 0.5 * math.log(n) <= highest_of_all:
            return n
    return 1


def _log_accept(log_prob, y, top, n, noise, f):
    """Log of q(f) p(y | f) / (N(f | μ, n v) p_max), at f = μ + √(n v) noise."""
    return 0.5 * np.log(n) - 0.5 * (n - 1.0) * noise**2 + log_prob(y, f) - top


def draw_by_row(kind: str, rows: Rows, rng: np.random.Generator, rounds: int = 0) -> np.ndarray:
    """One exact draw for each row.

    Args:
        kind: the likelihood, one of `KINDS`.
        rows: q and y.
        rng: the source of random numbers.
        rounds: rounds of all rows at once before each row is served by itself: the paper's hybrid
            has 2, plain rejection sampling 0.

    Returns:
        The draws [N].
    """
    log_prob, peak_of = KINDS[kind]
    peaks = [peak_of(y) for y in rows.y]
    top = np.array(
        [
            log_prob(y, peak) if math.isfinite(peak) else 0.0
            for y, peak in zip(rows.y, peaks, strict=True)
        ]
    )
    n = np.array([multiple(log_prob, *row) for row in zip(rows.y, peaks, *rows[:2], strict=True)])
    scale, found = np.sqrt(n * rows.variance), np.full(len(rows.y), np.nan)
    for _ in range(rounds):
        noise, uniform = rng.standard_normal(len(n)), rng.uniform(size=len(n))
        f = rows.mean + scale * noise
        fits = np.log(uniform) <= _log_accept(log_prob, rows.y, top, n, noise, f)
        found = np.where(np.isnan(found) & fits, f, found)
    for row in np.flatnonzero(np.isnan(found)):
        while True:
            noise = rng.standard_normal()
            f = rows.mean[row] + scale[row] * noise
            accept = _log_accept(log_prob, rows.y[row], top[row], n[row], noise, f)
            if math.log(rng.uniform()) <= accept:
                found[row] = f
                break
    return found


def learned_rows(kind: str, number: int) -> Rows:
    """q(f) as after some training: near the true f, with a fifth of the prior's variance."""
    _, f = make_data(number, 8)
    rng = np.random.default_rng(0)
    y = np.rint(np.exp(f)).clip(0, 50) if kind == "poisson" else (f > 0).astype(float)
    mean = 0.8 * f + 0.2 * rng.normal(size=number)
    return Rows(mean, np.full(number, 0.2), y)


def _drawn(kind: str, rows: Rows, rng: np.random.Generator, rounds: int) -> None:
    draw_by_row(kind, rows, rng, rounds)


def _ours(sampler: TiltedSampler, kind: str, rows: Rows) -> Callable[[], None]:
    """A call that draws once for all rows, compiled."""
    likelihood = likelihoods.create(kind)
    q = Marginals(
        jnp.asarray(rows.mean)[None, :, None],
        jnp.asarray(rows.variance)[None, :, None],
        jnp.zeros(1),
    )
    draw = eqx.filter_jit(partial(sampler.draw, likelihood, jnp.asarray(rows.y), q, 1))
    key = jax.random.key(0)
    jax.block_until_ready(draw(key))

    def call() -> None:
        jax.block_until_ready(draw(key))

    return call


def hybrid_rows(rounds: int = 5, wait: float = 60.0, number: int = 1000) -> list[dict]:
    """Milliseconds of one draw for each row: row by row, the paper's hybrid, all rows at once."""
    table = []
    for kind in KINDS:
        rows, rng = learned_rows(kind, number), np.random.default_rng(0)
        with jax.enable_x64(True):
            calls = {
                "row by row": partial(_drawn, kind, rows, rng, 0),
                "hybrid": partial(_drawn, kind, rows, rng, 2),
                "all at once": _ours(WideSampler(), kind, rows),
                "envelope": _ours(EnvelopeSampler(), kind, rows),
            }
            wait_until_quiet(wait)
            with Contention() as others:
                seconds = alternate(calls, rounds=rounds)
        table.append(
            {"likelihood": kind, "rows": number}
            | {f"{name} ms": 1e3 * value for name, value in seconds.items()}
            | {
                "hybrid saves": 1.0 - seconds["hybrid"] / seconds["row by row"],
                "other cores busy": others.cores,
            }
        )
        print(table[-1], flush=True)
    return table


def per_second_rows(
    repeats: int = 200,
    wait: float = 60.0,
    number: int = 1000,
    samples: tuple[int, ...] = (1, 10, 100),
) -> list[dict]:
    """Time, bias and noise of a gradient by bMC and uPS, and the error after one second.

    All relative to the length of the true gradient, that of quadrature, with respect to the mean of
    q(u) at the start of training (`dlm` Fig. 1 g). The error after a second is that of the
    average of all gradients that a second makes: √(bias² + noise² · seconds a gradient).
    """
    table = []
    X, f = make_data(number, 8)
    for kind, y in {
        "poisson": learned_rows("poisson", number).y,
        "bernoulli": (f > 0) * 1.0,
    }.items():
        with jax.enable_x64(True):
            gp, data = _problem(X, y, kind)
            loss = Direct(LogLoss())
            truth = choose_expectation(loss.needs, gp.likelihood)
            for count in samples:
                for name, way in {"bMC": MonteCarlo(count), "uPS": ProductSampling(count)}.items():
                    wait_until_quiet(wait)
                    found = _measured(gp, data, Objective(loss, KL(), way), truth, repeats)
                    table.append({"likelihood": kind, "samples": count, "gradient": name} | found)
                    print(table[-1], flush=True)
    return table


def _problem(X: np.ndarray, y: np.ndarray, kind: str):
    ready = prepare(
        X, y, likelihoods.create(kind), model=Sparse(num_inducing=50), validation=None,
        hold_out=lambda _rows: False, sample_weight=None, seed=0,
    )  # fmt: skip
    return ready.gp, ready.data


def _measured(gp, data, objective: Objective, truth: Expectation, repeats: int) -> dict:
    def statistics():
        return gradient_statistics(
            *gp, objective, data, beta=1.0, num_data=len(data.y), reference=truth,
            repeats=repeats, key=jax.random.key(0),
            where=lambda model, _likelihood: model.posterior.mean,
        )  # fmt: skip

    statistics()  # compiles
    with Contention() as others:
        began = time.perf_counter()
        found = statistics()
        seconds = (time.perf_counter() - began) / repeats
    noise = found.noise_level * math.sqrt(repeats)
    bias = math.sqrt(max(0.0, found.relative_bias**2 - found.noise_level**2))
    return {
        "ms": 1e3 * seconds,
        "bias": bias,
        "noise": noise,
        "error after a second": math.sqrt(bias**2 + noise**2 * seconds),
        "other cores busy": others.cores,
    }
