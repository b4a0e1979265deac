"""Negative binomial likelihoods: over-dispersed counts."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from directgp.likelihoods.base import likelihoods
from directgp.likelihoods.counts import (
    LARGEST_RATE,
    TAIL,
    CountLikelihood,
    CountsOfRate,
    exp_rate_forms,
)
from directgp.likelihoods.rates import (
    HOST,
    JAX,
    Arrays,
    ExpRate,
    Rate,
    SoftplusRate,
)
from directgp.parameters import is_learned, positive, unwrap, with_value
from directgp.predictive import CountFamily
from directgp.predictive.count_cdf import stirling_error

_SERIES_FROM = 60.0


class NegativeBinomial(CountLikelihood):
    """Over-dispersed counts: E[y | f] = λ = rate(f), Var[y | f] = λ + dispersion · λ².

        p(y | f) = Γ(y + r)/(Γ(r) y!) · (r/(r + λ))^r (λ/(r + λ))^y,    r = 1/dispersion

    `dispersion` is learned; its limit 0 is the Poisson. Subclasses choose the rate function.
    """

    dispersion: Any

    def __init__(self, dispersion: float = 0.5, minimum: float = 1e-6):
        self.dispersion = positive(dispersion, minimum)

    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return _log_mass(y, self.rate.log_rate(f[..., 0]), unwrap(self.dispersion))

    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        rate = self.rate.rate(f[..., 0])
        return rate * (1.0 + unwrap(self.dispersion) * rate)

    @property
    def has_learned_noise(self) -> bool:
        return is_learned(self.dispersion)

    def with_more_noise(self, amount: Any) -> "NegativeBinomial | None":
        """`amount` is added to the dispersion."""
        if not self.has_learned_noise:
            return None
        dispersion = with_value(self.dispersion, unwrap(self.dispersion) + amount)
        return eqx.tree_at(lambda likelihood: likelihood.dispersion, self, dispersion)

    def in_units(self, scale: Any) -> dict[str, Any]:
        return {"dispersion": float(unwrap(self.dispersion))}

    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        some = jnp.maximum(y, 1.0)
        return jnp.where(y > 0, _log_mass(some, jnp.log(some), unwrap(self.dispersion)), 0.0)

    def family(self) -> CountFamily:
        return NegativeBinomialCounts(self.rate, float(unwrap(self.dispersion)))


@likelihoods.register("negative-binomial")
class NegativeBinomialExp(NegativeBinomial):
    """Over-dispersed counts with λ = exp(f).

    >>> likelihood = NegativeBinomialExp(dispersion=0.5)
    >>> p = likelihood.predictive(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), np.zeros(1))
    >>> p.mean.round(4).tolist(), p.variance.round(4).tolist()    # 1 and 1 + 0.5 · 1²
    ([1.0], [1.5])
    """

    rate: ClassVar[Rate] = ExpRate()

    @property
    def log_concave(self) -> bool:
        return True


@likelihoods.register("negative-binomial-softplus")
class NegativeBinomialSoftplus(NegativeBinomial):
    """Over-dispersed counts with λ = log(1 + exp(f)), which is linear for large f."""

    rate: ClassVar[Rate] = SoftplusRate()


def _log_mass(y: Any, log_rate: Any, dispersion: Any, on: Arrays = JAX) -> Any:
    """Log p(y | λ), without cancellation for a dispersion close to 0 (the Poisson).

    log Γ(y + r)/(Γ(r) r^y) − log y! + y log λ − (y + r) log(1 + λ/r)
    """
    size = 1.0 / dispersion
    scaled = log_rate - on.numpy.log(size)
    growth = on.numpy.logaddexp(scaled, 0.0)
    return (
        _log_rising(y, size, on) - on.special.gammaln(y + 1.0) + y * log_rate - (y + size) * growth
    )


def _log_rising(y: Any, size: Any, on: Arrays) -> Any:
    """Log Γ(y + r) − log Γ(r) − y log r; by Stirling's series where r is large."""
    large = on.numpy.maximum(size, _SERIES_FROM)
    series = (y + large - 0.5) * on.numpy.log1p(y / large) - y
    series = series + _stirling(y + large) - _stirling(large)
    small = on.numpy.minimum(size, _SERIES_FROM)
    plain = on.special.gammaln(y + small) - on.special.gammaln(small) - y * on.numpy.log(small)
    return on.numpy.where(size > _SERIES_FROM, series, plain)


def _stirling(x: Any) -> Any:
    """Log Γ(x) − ((x − ½) log x − x + ½ log 2π), to 1e-14 for x ≥ 60."""
    return (1.0 - (1.0 - 2.0 / (7.0 * x**2)) / (30.0 * x**2)) / (12.0 * x)


class NegativeBinomialCounts(CountsOfRate):
    """Negative binomial counts given f, in NumPy."""

    def __init__(self, rate: Rate, dispersion: float) -> None:
        self._rate, self._dispersion, self._size = rate, dispersion, 1.0 / dispersion

    def log_mass(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return _log_mass(y, self._rate.log_rate(f, HOST), np.float64(self._dispersion), HOST)

    def cdf(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """P(Y ≤ y | f) = I_p(r, y + 1), p = r/(r + λ)."""
        return special.betainc(self._size, y + 1.0, special.expit(-self._scaled(f)))

    def survival(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return special.betainc(y + 1.0, self._size, special.expit(self._scaled(f)))

    def step(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # λ/r = q/(1 − q) with q = λ/(r + λ), computed from the smaller one of q and 1 − q.
        low = special.betaincinv(y + 1.0, self._size, TAIL)
        high = special.betaincinv(self._size, y + 1.0, TAIL)
        with np.errstate(divide="ignore", over="ignore"):
            rates = self._size * low / (1.0 - low), self._size * (1.0 - high) / high
        return self._rate.latent(rates[0], HOST), self._rate.latent(rates[1], HOST)

    def threshold_log_density(
        self, y: np.ndarray, x: np.ndarray, relative: bool = False
    ) -> np.ndarray:
        """The log density of log B − log((y + 1)/r), B ~ BetaPrime(y + 1, r).

        −a log(1 + r/(a + r) (e^{−x} − 1)) − r log(1 + a/(a + r) (e^x − 1)) + const, a = y + 1
        """
        a, r = y + 1.0, self._size
        log_density = -a * np.log1p(r / (a + r) * np.expm1(-x))
        log_density = log_density - r * np.log1p(a / (a + r) * np.expm1(x))
        if relative:
            return log_density
        peak = 0.5 * np.log(a / (a / r + 1.0) / (2.0 * np.pi))
        peak = peak + stirling_error(a + r) - stirling_error(a) - stirling_error(np.array(r))
        return log_density + peak

    def threshold_std(self, y: np.ndarray) -> np.ndarray:
        return np.sqrt(1.0 / (y + 1.0) + 1.0 / self._size)

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[y] = E[λ] and Var[y] = E[λ] + dispersion · E[λ²] + Var[λ]."""
        rate, spread = self._rate.moments(mean, variance)
        with np.errstate(over="ignore", invalid="ignore"):
            return rate, rate + self._dispersion * (spread + rate**2) + spread

    def draw(self, f: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """A Poisson whose rate is multiplied by a Gamma of mean 1."""
        factor = generator.gamma(self._size, self._dispersion, np.shape(f))
        with np.errstate(over="ignore"):
            rate = factor * self._rate.rate(f, HOST)
        return generator.poisson(np.minimum(rate, LARGEST_RATE))

    def _scaled(self, f: np.ndarray) -> np.ndarray:
        return self._rate.log_rate(f, HOST) - np.log(self._size)


exp_rate_forms(NegativeBinomialExp)
