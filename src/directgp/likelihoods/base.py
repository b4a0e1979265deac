"""Base class of likelihoods: the distribution p(y | f) of an observation given latent values."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.count_sums import count_nodes, count_range
from directgp.predictive import Predictive


class Likelihood(eqx.Module):
    """p(y | f). Arrays are elementwise in the leading axes; the last axis of f is P latents.

    Learned parameters are leaves, stored wrapped (see `parameters`); methods unwrap what they
    use, so they may be called on a wrapped or an unwrapped likelihood alike.
    """

    standardise_targets: ClassVar[bool]
    """Whether y is standardised before training: for families closed under y ↦ a·y + b."""

    support: ClassVar[Literal["real", "counts", "classes"]] = "real"
    """The support of y: real numbers; counts 0, 1, 2, …; or max(2, P) classes 0, 1, …"""

    @property
    @abstractmethod
    def num_latents(self) -> int:
        """Number of latent functions per observation (P)."""

    @abstractmethod
    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """Log p(y | f)."""

    @abstractmethod
    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """E[y | f]."""

    @abstractmethod
    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """Var[y | f]."""

    def latent_noise(self, f: Float[Array, "*B P"]) -> Float[Array, "*B P"]:
        """Var[y | f]/(∂E[y | f]/∂f)²: the noise variance in units of f.

        At most 1 for counts and classes, which may leave all of it open.
        """
        slope = jax.grad(lambda f: jnp.sum(self.conditional_mean(f)))(f)
        noise = self.conditional_variance(f)[..., None] / slope**2
        most = jnp.inf if self.support == "real" else 1.0
        return jnp.where(noise < most, noise, most)

    @abstractmethod
    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        """The f that maximises p(y | f), which has a single peak in f; ±inf where it has none."""

    @abstractmethod
    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """Log max_f p(y | f): the bound that rejection sampling needs."""

    @property
    def log_concave(self) -> bool:
        """Whether log p(y | f) is concave in a single f; False is always valid, but slower.

        True lets `expectations.tilted` bound q(f) p(y | f) by a few tangents.
        """
        return False

    def noise_mixture(self) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """Log-weights and variances of Gaussians that make up the noise of real y = f + noise.

        CRPS and pinball losses are computed from it; without it they are not known.
        """
        raise DirectGPError(
            f"this score of {type(self).__name__} is not known; use a log or square score, "
            "Direct(CRPS()) or Direct(Pinball()) for counts, or write noise_mixture for real y"
        )

    def noise_at(
        self, f: Float[Array, "S N P"]
    ) -> tuple[Float[Array, "K"], Float[Array, "K #S #N"]]:
        """`noise_mixture` at every row, where it may differ from row to row."""
        log_shares, variances = self.noise_mixture()
        return log_shares, variances[:, None, None]

    def at_rows(self, f: Float[Array, "N P"]) -> "Likelihood":
        """The likelihood with its parameters at every row; itself if all rows have the same.

        `GaussianOutputs`, whose second latent value is the number of the output, returns a
        `Gaussian` with the noise variance of each row's output.
        """
        return self

    @property
    def has_learned_noise(self) -> bool:
        """Whether there is a learned dispersion that `with_more_noise` can raise."""
        return False

    def with_more_noise(self, amount: Any) -> "Likelihood | None":
        """The same with `amount` added to its learned dispersion; None if it has none.

        What noise looks like on training rows is too little where they are overfitted, so it is
        raised by what held-out rows ask for.
        """
        return None

    @property
    def outcomes(self) -> Float[np.ndarray, "C"] | None:
        """All values y can take, where they are few (classes); None for numbers and counts."""
        return None

    def log_power_integral(self, f: Float[Array, "*B P"], power: float) -> Float[Array, "*B"]:
        """Log ∫ p(y | f)^power dy, which the robust losses need; a sum over counts and classes."""
        if self.support == "counts":
            rate, spread = lax.stop_gradient(
                (self.conditional_mean(f), self.conditional_variance(f))
            )
            y, log_weights = count_nodes(*count_range(rate, spread))
            everywhere = jnp.broadcast_to(f, (*y.shape, f.shape[-1]))
            return logsumexp(log_weights + power * self.log_prob(y, everywhere), axis=0)
        if self.outcomes is None:
            raise DirectGPError(
                f"robust losses need ∫ p(y | f)^power dy, which {type(self).__name__} does not "
                "know; use the log loss, or a Gaussian, Student-t, count or class likelihood"
            )
        values = jnp.asarray(self.outcomes).reshape(-1, *(1,) * (f.ndim - 1))
        everywhere = (len(values), *f.shape[:-1])
        y = jnp.broadcast_to(values, everywhere)
        latents = jnp.broadcast_to(f, (*everywhere, f.shape[-1]))
        return logsumexp(power * self.log_prob(y, latents), axis=0)

    def outcome_rule(
        self, mean: Float[Array, "S N P"], variance: Float[Array, "S N P"]
    ) -> tuple[Float[Array, "K S N"], Float[Array, "K #S #N"]]:
        """Nodes y and log-weights for E[h(y)] under every component of the predictive mixture.

        Only needed where y is continuous, by direct losses that integrate over y.
        """
        raise DirectGPError(
            f"a direct robust loss needs to integrate over y, which {type(self).__name__} cannot; "
            "use a Gaussian, Student-t or class likelihood, or write outcome_rule"
        )

    @abstractmethod
    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        """The constant f that fits y best: the initial value of a constant prior mean."""

    @abstractmethod
    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> Predictive:
        """The predictive distribution of y: the mixture over f pushed through p(y | f).

        Args:
            mean: of the components of q(f).
            variance: of the components of q(f).
            log_weights: of the components.
        """

    def for_targets(self, y: Any) -> "Likelihood":
        """This likelihood, adapted to y (e.g. the number of classes); by default itself."""
        return self

    @abstractmethod
    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        """Y as numbers that this likelihood accepts, or a one-line error."""
