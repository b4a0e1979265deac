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
from directgp.registry import Registry


class Likelihood(eqx.Module):
    """p(y | f), elementwise over the leading axes; the last axis of f holds the P latent values.

    Learned parameters are wrapped leaves (see `parameters`). Methods unwrap the parameters they
    use, so a likelihood may be wrapped or unwrapped.
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
        """Log p(y | f).

        Args:
            y: observations.
            f: latent values.
        """

    @abstractmethod
    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """E[y | f]."""

    @abstractmethod
    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """Var[y | f]."""

    def latent_noise(self, f: Float[Array, "*B P"]) -> Float[Array, "*B P"]:
        """Var[y | f]/(∂E[y | f]/∂f)²: the noise variance in units of f.

        For counts and classes at most 1, because it may be infinite there.
        """
        slope = jax.grad(lambda f: jnp.sum(self.conditional_mean(f)))(f)
        noise = self.conditional_variance(f)[..., None] / slope**2
        most = jnp.inf if self.support == "real" else 1.0
        return jnp.where(noise < most, noise, most)

    @abstractmethod
    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        """The f that maximises p(y | f), which is unimodal in f; ±inf for a monotone likelihood."""

    @abstractmethod
    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """Log max_f p(y | f), the bound for rejection sampling."""

    @property
    def log_concave(self) -> bool:
        """Whether log p(y | f) is concave in a single f.

        `expectations.tilted` then bounds q(f) p(y | f) by a few tangents; False is always valid,
        but slower.
        """
        return False

    def noise_mixture(self) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """The noise of a real y = f + noise as a mixture of Gaussians: log-weights and variances.

        CRPS and pinball losses need it.
        """
        raise DirectGPError(
            f"this score of {type(self).__name__} is not known; use a log or square score, "
            "Direct(CRPS()) or Direct(Pinball()) for counts, or write noise_mixture for real y"
        )

    def noise_at(
        self, f: Float[Array, "S N P"]
    ) -> tuple[Float[Array, "K"], Float[Array, "K #S #N"]]:
        """`noise_mixture` at every row, for likelihoods whose noise differs between rows."""
        log_shares, variances = self.noise_mixture()
        return log_shares, variances[:, None, None]

    def at_rows(self, f: Float[Array, "N P"]) -> "Likelihood":
        """The likelihood with its parameters at every row; itself if they are the same at all rows.

        `GaussianOutputs`, whose second latent value is the number of the output, returns a
        `Gaussian` with the noise variance of each row's output.
        """
        return self

    @property
    def has_learned_noise(self) -> bool:
        """Whether there is a learned dispersion that `with_more_noise` can raise."""
        return False

    def with_more_noise(self, amount: Any) -> "Likelihood | None":
        """The likelihood with `amount` added to its learned dispersion; None if it has none.

        The noise that an overfitted model estimates from its training rows is too small; held-out
        rows determine how much is added.
        """
        return None

    def in_units(self, scale: Any) -> dict[str, Any]:
        """The parameters in the units of the user, by name; none by default.

        Args:
            scale: of the targets, one number or one for each output.
        """
        return {}

    def log_power_of_component(
        self, mean: Float[Array, "S N P"], variance: Float[Array, "S N P"], power: float
    ) -> Float[Array, "S N"] | None:
        """Log ∫ p_s(y)^power dy of every component p_s of the predictive mixture, in closed form.

        Args:
            mean: of the components of q(f).
            variance: of the components of q(f).
            power: of the density, above 1.

        Returns:
            None where no closed form is known.
        """
        return None

    @property
    def outcomes(self) -> Float[np.ndarray, "C"] | None:
        """All values of y if it is a class; None for real numbers and counts."""
        return None

    def log_power_integral(self, f: Float[Array, "*B P"], power: float) -> Float[Array, "*B"]:
        """Log ∫ p(y | f)^power dy for the robust losses; a sum for counts and classes.

        Args:
            f: latent values.
            power: of the density, above 1.
        """
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

        Direct losses that integrate over a continuous y need it.

        Args:
            mean: of the components of q(f).
            variance: of the components of q(f).
        """
        raise DirectGPError(
            f"a direct robust loss needs to integrate over y, which {type(self).__name__} cannot; "
            "use a Gaussian, Student-t or class likelihood, or write outcome_rule"
        )

    @abstractmethod
    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        """The constant f that fits y best, the initial value of a constant prior mean."""

    @abstractmethod
    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> Predictive:
        """The predictive distribution of y, with f integrated out.

        Args:
            mean: of the components of q(f).
            variance: of the components of q(f).
            log_weights: of the components.
        """

    def for_targets(self, y: Any) -> "Likelihood":
        """The likelihood adapted to y, for example to its number of classes; by default itself."""
        return self

    @abstractmethod
    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        """Validate y and convert it to float64."""


likelihoods = Registry("likelihood", Likelihood)
