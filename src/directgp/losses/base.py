"""Gibbs and Direct: the two ways to turn a score into a training loss."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.expectations.base import Expectation
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.closed_forms import Kind
from directgp.likelihoods.integrands import Integrand
from directgp.marginals import Marginals, OutputMarginals


class Integrals(eqx.Module):
    """Expectations under the mixture q(f) of every row, from which scores are built."""

    y: Float[Array, "N *T"]
    """One value a row, or a vector of outputs where the likelihood is one of vectors."""
    marginals: Marginals
    expectation: Expectation
    key: PRNGKeyArray | None

    def mean(self, integrand: Integrand) -> Float[Array, "N"]:
        """E_q[g(y, f)] = Σ_s w_s E_{q_s}[g(y, f)]."""
        q = self.marginals
        parts = self.expectation.mean(integrand, self.y, q.mean, q.variance, self.key)
        return q.average(parts)

    def log_mean_exp(self, integrand: Integrand) -> Float[Array, "N"]:
        """Log E_q[exp g(y, f)] = log Σ_s w_s E_{q_s}[exp g(y, f)]."""
        return self.expectation.mixture_log_mean_exp(integrand, self.y, self.marginals, self.key)


Need = tuple[type[Integrand], Kind]


class Score(eqx.Module):
    """A score of a prediction, lower is better: log loss, square loss, …

    `gibbs_needs` and `direct_needs` name the integrals used, so that `choose_expectation` can
    check whether closed forms exist.
    """

    gibbs_needs: ClassVar[tuple[Need, ...]]
    direct_needs: ClassVar[tuple[Need, ...]]

    @abstractmethod
    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """E_q[score(y, f)]: the average score of the latent values."""

    @abstractmethod
    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """score(y, E_q[p(· | f)]): the score of the predictive distribution."""


class Loss(eqx.Module):
    """loss(y_i, q at x_i), one value per row."""

    score: eqx.AbstractVar[Score]

    @abstractmethod
    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """The loss of every row."""

    def of_outputs(
        self,
        likelihood: Likelihood,
        q: OutputMarginals,
        Y: Float[Array, "N T"],
        expectation: Expectation,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "N *T"]:
        """loss(y_it, q of output t at x_i) of every value; 0 where y is NaN, not measured.

        A loss of whole rows (`Joint`) has one value a row instead.

        Args:
            likelihood: of one output.
            q: q(f) of all outputs.
            Y: the observations.
            expectation: how integrals are done.
            key: for random numbers, where there are any.
        """
        measured = ~jnp.isnan(Y)
        values = jnp.where(measured, Y, 0.0).reshape(-1)
        losses = self(likelihood, Integrals(values, q.by_value(), expectation, key))
        return jnp.where(measured, losses.reshape(Y.shape), 0.0)

    def scored(self, likelihood: Likelihood) -> Likelihood:
        """The likelihood that the loss integrates, given that of each output."""
        return likelihood

    @property
    def direct(self) -> "Loss":
        """The same score of the predictive distribution, by which held-out rows are judged."""
        return Direct(self.score)

    def with_score(self, score: Score) -> "Loss":
        """The same loss of another score."""
        return replace(self, score=score)

    @property
    @abstractmethod
    def needs(self) -> tuple[Need, ...]:
        """Which integrals over f the loss uses."""


class Gibbs(Loss):
    """E_q[score(y, f)]: average the score of f, as variational inference does.

    ``Gibbs(LogLoss())`` with a KL divergence of weight 1 is the negative ELBO.
    """

    score: Score

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return self.score.gibbs(likelihood, integrals)

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.score.gibbs_needs


class Direct(Loss):
    """score(y, E_q[p(· | f)]): score the predictive distribution itself (`dlm`)."""

    score: Score

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return self.score.direct(likelihood, integrals)

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.score.direct_needs
