"""Exact GP classification in one call: learn the kernel by marginal likelihood, predict, decide."""

import warnings
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.exact.ep import Sites, ep
from directgp.exact.finite import FiniteGP, signed
from directgp.exact.laplace import laplace
from directgp.exact.learning import FAILED, learn_kernel, minimised, row_approximations, row_sites
from directgp.exact.posterior import Posterior
from directgp.exact.target import Target
from directgp.kernels import Kernel
from directgp.likelihoods import BernoulliProbit, Likelihood, likelihoods
from directgp.likelihoods.bernoulli import Bernoulli
from directgp.linalg.blas_threads import one_blas_thread
from directgp.parameters import float64, on_device, split_trainable
from directgp.predictive import ClassProbabilities
from directgp.registry import Registry
from directgp.tables import Standardiser, check_inputs, check_rows
from directgp.training.initialise import inducing_inputs, initial_kernel
from directgp.training.loop import TrainingWarning

approximations = Registry("approximation")
approximations.register("laplace")(lambda: laplace)
approximations.register("ep")(lambda: _ep_posterior)

_MOST_ROWS = 2000


def _ep_posterior(target: Target, start: Sites | None = None) -> Posterior:
    return ep(target, start).posterior


@dataclass(frozen=True)
class ExactGP:
    """A GP classifier with a Gaussian approximation of the posterior by Laplace or EP."""

    gp: FiniteGP
    likelihood: Bernoulli
    posterior: Posterior
    inputs: Standardiser
    rows: Float[Array, "N M"]

    @property
    def log_evidence(self) -> float:
        """Log q(y), the approximate log marginal likelihood."""
        return float(self.posterior.log_evidence)

    @property
    def converged(self) -> bool:
        """Whether Newton's method or EP converged; `fit_exact` warns if not."""
        return bool(self.posterior.converged)

    @float64
    def predict(self, X: Any) -> ClassProbabilities:
        """Class probabilities at every row of X."""
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        features = self.gp.features(on_device(self.inputs.forward_inputs(values)))
        mean, variance = (np.asarray(part) for part in self.posterior.latent(features))
        return self.likelihood.predictive(
            mean[None, :, None], np.maximum(variance, 0.0)[None, :, None], np.zeros(1)
        )


@float64
def fit_exact(
    X: Any,
    y: Any,
    *,
    kernel: str | Kernel = "rbf",
    method: str = "ep",
    likelihood: str | Likelihood = "bernoulli",
    num_inducing: int | None = None,
    learn: bool = True,
    max_steps: int = 100,
    seed: int = 0,
) -> ExactGP:
    """Two-class GP for up to about 2000 rows; hyperparameters maximise the log marginal likelihood.

    Args:
        X: inputs [N D].
        y: two classes, 0 and 1 or booleans [N].
        kernel: a registered name or a `Kernel` to start from.
        method: "ep" is more accurate, "laplace" faster.
        likelihood: "bernoulli" (probit), or another two-class likelihood.
        num_inducing: None for an exact GP; a number for a sparse one (probit only).
        learn: whether to optimise the kernel; False keeps it.
        max_steps: of L-BFGS.
        seed: of the inducing points.

    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> fitted = fit_exact(X, X[:, 0] > 0.5)
    >>> fitted.predict([[0.1], [0.9]]).predicted.tolist()
    [0, 1]
    """
    link = likelihoods.resolve(likelihood)
    if not isinstance(link, Bernoulli):
        raise DirectGPError(
            f"exact classification is for two classes, got {type(link).__name__}; "
            "use fit(likelihood='categorical') for more"
        )
    X = check_inputs(X)
    y = link.check_targets(check_rows(X, y))
    if len(y) > _MOST_ROWS and num_inducing is None:
        raise DirectGPError(
            f"{len(y)} rows are too many for an exact GP (at most {_MOST_ROWS}); "
            "give num_inducing=100, or use fit()"
        )
    if num_inducing is not None and not isinstance(link, BernoulliProbit):
        raise DirectGPError("a sparse classifier needs the probit link; use likelihood='bernoulli'")
    approximate = approximations.create(method)
    inputs = Standardiser.of_inputs(X)
    scaled = inputs.forward_inputs(X)
    chosen = initial_kernel(kernel, scaled, seed)
    support = scaled if num_inducing is None else inducing_inputs(scaled, num_inducing, seed)
    problem = _Problem(on_device(scaled), on_device(y), on_device(support), link)
    by_rows = num_inducing is None and method in row_approximations
    with one_blas_thread():  # threads of BLAS and XLA slow each other down
        if learn and by_rows:
            chosen = learn_kernel(chosen, scaled, y, link, method, max_steps)
        elif learn:
            chosen = _learn(problem, chosen, approximate, max_steps)
        rows = problem.rows(chosen)
        starts = [_sites(chosen, scaled, y, link)] if by_rows and method == "ep" else []
        posterior = eqx.filter_jit(approximate)(Target(rows, link), *starts)
        jax.block_until_ready(posterior)
    fitted = ExactGP(FiniteGP(chosen, problem.support), link, posterior, inputs, rows)
    if not (fitted.converged and np.isfinite(fitted.log_evidence)):
        warnings.warn(
            f"{method} did not converge in {int(posterior.sweeps)} steps (log evidence "
            f"{fitted.log_evidence:g}); check the data's scale and the kernel, or try the other "
            "method",
            TrainingWarning,
            stacklevel=3,
        )
    return fitted


class _Problem(eqx.Module):
    X: Float[Array, "N D"]
    y: Float[Array, "N"]
    support: Float[Array, "M D"]
    likelihood: Bernoulli

    def rows(self, kernel: Kernel) -> Float[Array, "N M"]:
        features = FiniteGP(kernel, self.support).features(self.X)
        probit = isinstance(self.likelihood, BernoulliProbit)
        return signed(features.scaled if probit else features.values, self.y)


def _sites(kernel: Kernel, X: np.ndarray, y: np.ndarray, link: Bernoulli) -> Sites:
    """Sites close to those of EP, found by simultaneous updates."""
    found = row_sites(kernel, X, y, link)
    size = len(X)
    precision, shift = on_device(found.precision), on_device(found.shift)
    return Sites(precision, shift, jnp.zeros((size, size)), jnp.zeros(size))


def _learn(problem: _Problem, kernel: Kernel, approximate, max_steps: int) -> Kernel:
    """Maximise log q(y) of a sparse GP over the kernel's numbers, gradients from JAX."""
    learned, fixed = split_trainable(kernel)
    start, unravel = ravel_pytree(learned)

    @jax.jit
    @jax.value_and_grad
    def negative(numbers):
        rows = problem.rows(eqx.combine(unravel(numbers), fixed))
        return -approximate(Target(rows, problem.likelihood)).log_evidence

    def on_host(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = negative(on_device(numbers))
        usable = np.isfinite(value) and np.all(np.isfinite(gradient))
        return (float(value), np.asarray(gradient)) if usable else (FAILED, np.zeros_like(numbers))

    return eqx.combine(unravel(on_device(minimised(on_host, start, max_steps))), fixed)
