"""`gvi` Fig. 2: the effect of other divergences on variances and on the influence of a bad prior.

The models have normal observations, a normal prior on each coefficient and a mean-field normal q,
so that E_q[loss] has a closed form and the exact posterior is known.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from directgp.divergences import WhitenedGaussian, divergences
from directgp.parameters import float64
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.kinds.influence import NO_ROWS
from experiments.method import part


def mean_field(A, y, noise: float, prior_mean, prior_std, divergence):
    """Means and standard deviations of the q that minimises E_q[−log N(y; Aθ, noise²)] + D."""
    A, y, prior_mean, prior_std = (
        jnp.asarray(v, jnp.float64) for v in (A, y, prior_mean, prior_std)
    )

    @jax.jit
    def objective(numbers):
        mean, std = numbers[: A.shape[1]], jnp.exp(numbers[A.shape[1] :])
        misfit = jnp.sum((y - A @ mean) ** 2) + jnp.sum(A**2 @ std**2)
        white = WhitenedGaussian.from_moments(
            ((mean - prior_mean) / prior_std)[None], (std / prior_std)[None]
        )
        return 0.5 * misfit / noise**2 + divergence(white)

    exact_mean, exact_cov = exact(A, y, noise, prior_mean, prior_std)
    start = np.concatenate([exact_mean, 0.5 * np.log(np.diag(exact_cov))])
    gradient = jax.jit(jax.grad(objective))
    found = minimize(
        lambda v: float(objective(v)), start, jac=lambda v: np.asarray(gradient(v)), method="BFGS"
    )
    return found.x[: A.shape[1]], np.exp(found.x[A.shape[1] :])


def exact(A, y, noise: float, prior_mean, prior_std) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the exact posterior."""
    A, y, prior_mean, prior_std = (np.asarray(v, np.float64) for v in (A, y, prior_mean, prior_std))
    precision = A.T @ A / noise**2 + np.diag(prior_std**-2.0)
    cov = np.linalg.inv(precision)
    return cov @ (A.T @ y / noise**2 + prior_mean / prior_std**2), cov


@kinds.register("marginal-variance")
@float64
def marginal_variance(record: Record, _folder: Path) -> Outcome:
    """Two coefficients of correlated inputs: marginal deviations of q over the exact ones."""
    rng = np.random.default_rng(record["seed"])
    shared = rng.standard_normal(record["observations"])
    A = np.stack([shared, record["correlation"] * shared], axis=1)
    A[:, 1] += np.sqrt(1 - record["correlation"] ** 2) * rng.standard_normal(len(shared))
    y = A @ np.array([1.0, -0.5]) + rng.standard_normal(len(shared))
    prior = np.zeros(2), np.full(2, 2.0)
    mean, std = mean_field(A, y, 1.0, *prior, _divergence(record))
    exact_mean, cov = exact(A, y, 1.0, *prior)
    ratio = std / np.sqrt(np.diag(cov))
    grid = exact_mean[0] + np.linspace(-4, 4, 161) * np.sqrt(cov[0, 0])
    density = np.exp(-0.5 * ((grid - mean[0]) / std[0]) ** 2) / (std[0] * np.sqrt(2 * np.pi))
    curve = {"theta": _short(grid), "density": _short(density)}
    return Outcome({"relative_deviation": float(ratio.mean())}, curve)


@kinds.register("prior-pull")
@float64
def prior_pull(record: Record, _folder: Path) -> Outcome:
    """A mean under the priors N(−30, 2²) and N(−5, 2²); the observations lie around −5."""
    rng = np.random.default_rng(record["seed"])
    y = -5.0 + record["noise"] * rng.standard_normal(record["observations"])
    A = np.ones((len(y), 1))
    found = {}
    for place in (-30.0, -5.0):
        found[place] = mean_field(A, y, record["noise"], [place], [2.0], _divergence(record))
    (bad_mean, bad_std), (good_mean, good_std) = found[-30.0], found[-5.0]
    low, high = record["span"]
    grid = np.linspace(low, high, 201)
    curve = {"theta": _short(grid)}
    for name, (mean, std) in (("bad", found[-30.0]), ("good", found[-5.0])):
        density = np.exp(-0.5 * ((grid - mean[0]) / std[0]) ** 2) / (std[0] * np.sqrt(2 * np.pi))
        curve[name] = _short(density)
    scores = {
        "shift": float(abs(bad_mean[0] - good_mean[0])),
        "mean_under_bad_prior": float(bad_mean[0]),
        "deviation_under_bad_prior": float(bad_std[0]),
        "deviation_under_good_prior": float(good_std[0]),
    }
    return Outcome(scores, curve)


def _divergence(record: Record):
    return divergences.resolve(part("divergence", record["divergence"], NO_ROWS, record["seed"]))


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
