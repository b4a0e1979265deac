"""The tilted density q(f) p(y | f) by brute force: what draws and gradients are held against."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm

from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Gaussian,
    Likelihood,
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
)
from directgp.marginals import Marginals


class Case(NamedTuple):
    """A likelihood and rows (y, mean of q, standard deviation of q), hard ones among them."""

    likelihood: Callable[[], Likelihood]
    rows: list[tuple[float, float, float]]


_LABELS = [(1.0, -8.0, s) for s in (0.01, 0.1, 1.0, 3.0, 30.0)] + [
    (1.0, 0.0, 1.0),
    (0.0, 3.0, 0.5),
    (0.0, -50.0, 1.0),
    (1.0, -50.0, 2.0),
]
_COUNTS = [(0.0, 8.0, s) for s in (0.1, 1.0, 3.0, 10.0)] + [
    *[(1000.0, -8.0, s) for s in (0.5, 1.0, 3.0, 10.0)],
    (1000.0, 7.0, 0.01),
    (5.0, 1.0, 1.0),
    (0.0, 0.0, 1.0),
]
_NUMBERS = [
    (0.0, 0.0, 1.0),
    (8.0, 0.0, 1.0),
    (5.0, 0.0, 1.0),
    (100.0, 0.0, 1.0),
    (0.0, 0.0, 0.001),
    (3.0, 0.0, 10.0),
]
CASES = {
    "gaussian": Case(lambda: Gaussian(0.1), _NUMBERS),
    "probit": Case(BernoulliProbit, _LABELS),
    "logit": Case(BernoulliLogit, _LABELS),
    "poisson-exp": Case(PoissonExp, [*_COUNTS, (1e5, 0.0, 1.0)]),
    "poisson-softplus": Case(PoissonSoftplus, _COUNTS),
    "negative-binomial-exp": Case(lambda: NegativeBinomialExp(0.5), _COUNTS),
    "negative-binomial-softplus": Case(lambda: NegativeBinomialSoftplus(0.5), _COUNTS),
    "student-t": Case(lambda: StudentT(0.1, 4.0), _NUMBERS),
    "student-t-narrow": Case(lambda: StudentT(0.002, 3.0), _NUMBERS[:3]),
    "student-t-light": Case(lambda: StudentT(1.0, 100.0), [*_NUMBERS, (20.0, 0.0, 1.0)]),
}


@eqx.filter_jit
def _log_prob(likelihood: Likelihood, y, f):
    return likelihood.log_prob(jnp.broadcast_to(y, f.shape), f[:, None])


class Exact:
    """q(f) p(y | f) of one row on grids fine enough for both factors."""

    def __init__(self, likelihood: Likelihood, y: float, mean, variance, weights=(1.0,)):
        self.likelihood, self.y = likelihood, y
        self.mean, self.variance, self.weights = mean, np.asarray(variance), weights
        peak = float(likelihood.mode(jnp.asarray([y]))[0, 0])
        peak = peak if np.isfinite(peak) else mean[0]
        ranges = [(-60.0, 60.0), (min(*mean, peak), max(*mean, peak) + 1e-9)]
        ranges += [(m - 12 * np.sqrt(v), m + 12 * np.sqrt(v)) for m, v in self._pairs()]
        ranges += [(peak - reach, peak + reach) for reach in (1e-3, 0.03, 1.0, 30.0)]
        grid = np.sort(np.concatenate([np.linspace(*ends, 6001) for ends in ranges]))
        low, high = np.interp([1e-13, 1 - 1e-13], self._cumulative(grid), grid)
        pad = 0.05 * (high - low)
        self.grid = np.linspace(low - pad, high + pad, 60_001)
        self._cdf = self._cumulative(self.grid)

    @property
    def log_area(self) -> float:
        """log E_q[p(y | f)]."""
        log_density = self.log_prob(self.grid)
        top = log_density.max()
        return float(top + np.log(np.trapezoid(np.exp(log_density - top), self.grid)))

    def _pairs(self):
        return zip(self.mean, self.variance, strict=True)

    def log_prob(self, f: np.ndarray) -> np.ndarray:
        """log Σ_s w_s N(f | m_s, v_s) + log p(y | f), not normalised."""
        components = [
            np.log(w) - 0.5 * (f - m) ** 2 / v - 0.5 * np.log(2 * np.pi * v)
            for (m, v), w in zip(self._pairs(), self.weights, strict=True)
        ]
        log_prob = _log_prob(self.likelihood, jnp.asarray(self.y), jnp.asarray(f))
        return np.logaddexp.reduce(components, axis=0) + np.asarray(log_prob)

    def _cumulative(self, grid: np.ndarray) -> np.ndarray:
        log_density = self.log_prob(grid)
        density = np.exp(log_density - log_density.max())
        areas = 0.5 * (density[1:] + density[:-1]) * np.diff(grid)
        cumulative = np.concatenate([[0.0], np.cumsum(areas)])
        return cumulative / cumulative[-1]

    def cdf(self, f) -> np.ndarray:
        return np.interp(np.asarray(f), self.grid, self._cdf)


def log_evidence(likelihood: Likelihood, y, marginals: Marginals, grid):
    """log Σ_s w_s E_{q_s}[p(y | f)] [N] by the trapezium rule, to be differentiated."""
    f = jnp.asarray(grid)[:, None]
    q = norm.logpdf(f[:, None], marginals.mean[..., 0], jnp.sqrt(marginals.variance[..., 0]))
    log_q = logsumexp(q + marginals.log_weights[:, None], axis=1)
    f = jnp.broadcast_to(f, log_q.shape)
    log_prob = likelihood.log_prob(jnp.broadcast_to(y, f.shape), f[..., None])
    return logsumexp(log_q + log_prob, axis=0) + jnp.log(grid[1] - grid[0])


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    return CASES


_SLOW = {
    "logit",
    "negative-binomial-exp",
    "negative-binomial-softplus",
    "poisson-softplus",
    "student-t-light",
    "student-t-narrow",
}
"""Cases whose way of sampling another case has too: each takes seconds to compile."""


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.slow if name in _SLOW else ())
        for name in sorted(CASES)
    ]
)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="session")
def exact() -> type[Exact]:
    return Exact


@pytest.fixture(scope="session")
def exact_log_evidence():
    return log_evidence
