"""`Gibbs` and `Direct`, the two ways to turn a score into a training loss."""

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
from directgp.registry import Registry


class Integrals(eqx.Module):
    """Expectations under the mixture q(f) of every row, from which scores are built."""

    y: Float[Array, "N *T"]
    """One value per row, or a vector of outputs for a `VectorLikelihood`."""
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
    """A scoring rule, lower is better: log loss, square loss, …

    `gibbs_needs` and `direct_needs` declare which expectations it uses; `choose_expectation` checks
    whether they have closed forms.
    """

    gibbs_needs: ClassVar[tuple[Need, ...]]
    direct_needs: ClassVar[tuple[Need, ...]]

    @abstractmethod
    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """E_q[score(y, f)], the expected score of the latent values.

        Args:
            likelihood: p(y | f).
            integrals: expectations under q at every row.
        """

    @abstractmethod
    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """score(y, E_q[p(· | f)]), the score of the predictive distribution.

        Args:
            likelihood: p(y | f).
            integrals: expectations under q at every row.
        """


class Loss(eqx.Module):
    """loss(y_i, q at x_i), one value per row."""

    score: eqx.AbstractVar[Score]

    @abstractmethod
    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """The loss of every row.

        Args:
            likelihood: p(y | f).
            integrals: expectations under q at every row.
        """

    def of_outputs(
        self,
        likelihood: Likelihood,
        q: OutputMarginals,
        Y: Float[Array, "N T"],
        expectation: Expectation,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "N *T"]:
        """loss(y_it, q of output t at x_i) of every value; 0 where y is NaN (not measured).

        A loss of whole rows (`Joint`) has one value per row instead.

        Args:
            likelihood: of one output.
            q: q(f) of all outputs.
            Y: the observations.
            expectation: the method that computes expectations.
            key: for Monte Carlo methods; None where nothing is sampled.
        """
        measured = ~jnp.isnan(Y)
        values = jnp.where(measured, Y, 0.0).reshape(-1)
        losses = self(likelihood, Integrals(values, q.by_value(), expectation, key))
        return jnp.where(measured, losses.reshape(Y.shape), 0.0)

    def scored(self, likelihood: Likelihood) -> Likelihood:
        """The likelihood whose expectations the loss uses, given the likelihood of one output."""
        return likelihood

    @property
    def direct(self) -> "Loss":
        """The direct loss of the same score, which evaluates held-out rows."""
        return Direct(self.score)

    def with_score(self, score: Score) -> "Loss":
        """The same loss with another score."""
        return replace(self, score=score)

    @property
    @abstractmethod
    def needs(self) -> tuple[Need, ...]:
        """The expectations over f that the loss uses."""


class Gibbs(Loss):
    """E_q[score(y, f)]: the expected score of f, as in variational inference.

    ``Gibbs(LogLoss())`` with a KL divergence of weight 1 is the negative ELBO.
    """

    score: Score

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return self.score.gibbs(likelihood, integrals)

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.score.gibbs_needs


class Direct(Loss):
    """score(y, E_q[p(· | f)]): the score of the predictive distribution (`dlm`)."""

    score: Score

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return self.score.direct(likelihood, integrals)

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.score.direct_needs


scores = Registry("score", Score)
losses = Registry("loss", Loss, lambda part: Direct(part) if isinstance(part, Score) else part)
"""Losses by name; a score is converted to its direct loss."""
