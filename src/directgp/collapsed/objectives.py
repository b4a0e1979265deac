"""Three objectives in which q(u) is replaced by its optimum, as functions of hyperparameters only.

Let F(θ, q) be an objective and q*(θ) its minimiser over q. The collapsed objective is F(θ, q*(θ)),
and because ∂F/∂q = 0 at q*, its gradient is ∂F/∂θ with q* held fixed. So each class solves for q*
without derivatives and evaluates the ordinary `Objective` there.

Multiplied out, with P = I + Σ_i a_i a_iᵀ/(β d_i), b = Σ_i a_i r_i/d_i, r_i = y_i − mean_i:

    F(q*) = Σ_i [½ log 2πd_i + r_i²/(2d_i)] − bᵀP⁻¹b/(2β) + (β/2) log det P + T

    CollapsedBound  d_i = σ²,                T = Σ_i Var[f_i | u] / (2σ²)    (Titsias 2009 at β = 1)
    FITC            d_i = σ² + Var[f_i | u], T = 0    (Snelson and Ghahramani 2006 at β = 1)

In terms of the negative of Titsias' bound with noise βσ², the first is

    β · bound(βσ²) + (n/2) log 2πσ² − (βn/2) log 2πβσ²
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.collapsed.calibration import calibrated
from directgp.collapsed.posterior import check_parts, collect, solve
from directgp.collapsed.rows import Basis, Evidence, RowNoise
from directgp.divergences.base import Divergence, WhitenedGaussian
from directgp.divergences.kl import KL
from directgp.expectations.closed_form import ClosedForm
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.gaussian import Gaussian
from directgp.losses.base import Direct, Gibbs, Integrals, Loss, Need, Score
from directgp.losses.log import LogLoss
from directgp.losses.square import SquareLoss
from directgp.models.base import Model
from directgp.models.sparse_gp import SparseGP
from directgp.objective import Batch, Objective, Parts
from directgp.parameters import float64, unwrap, without_gradient


class Collapsed(eqx.Module):
    """An objective for `training.loop.run` that ignores the posterior of the model.

    A row of weight w counts as w equal rows. `num_data` scales the sum over rows as in `Objective`.
    Use full batches, because q(u) is solved for every batch.
    """

    precision: str = eqx.field(static=True, default="float64")

    @property
    @abstractmethod
    def objective(self) -> Objective:
        """F, which is evaluated at q*."""

    @abstractmethod
    def row_noise(self, likelihood: Gaussian) -> RowNoise:
        """d_i: the variance of y_i around a_iᵀv."""

    @abstractmethod
    def posterior(self, total: Evidence, beta: Float[Array, ""]) -> WhitenedGaussian:
        """q*, as the posterior that `objective` evaluates.

        Args:
            total: sufficient statistics of all rows.
            beta: the weight of the divergence.
        """

    @float64
    def finish(
        self,
        model: SparseGP,
        likelihood: Gaussian,
        batch: Batch,
        *,
        beta: float | Float[Array, ""],
    ) -> tuple[SparseGP, Gaussian]:
        """A sparse GP and its noise with the predictions of the collapsed model.

        Args:
            model: hyperparameters and inducing inputs.
            likelihood: the noise.
            batch: all training rows.
            beta: of the objective.
        """
        check_parts(model, likelihood)
        return self._finished(model, likelihood, batch, jnp.asarray(beta, jnp.float64))

    def _finished(self, model, likelihood, batch, beta) -> tuple[SparseGP, Gaussian]:
        """The model with q* as its posterior."""
        mean, scale = _optimum(self, model, likelihood, batch, beta).moments()
        posterior = WhitenedGaussian.from_moments(mean[:1], scale[:1])
        return eqx.tree_at(lambda m: m.posterior, model, posterior), likelihood

    def __call__(
        self,
        model: Model,
        likelihood: Likelihood,
        batch: Batch,
        *,
        beta: Float[Array, "*L"],
        num_data: Float[Array, ""],
        key: PRNGKeyArray | None,
    ) -> tuple[Float[Array, ""], Parts]:
        """The minimum over q(u) of the objective and its two terms; see `Objective.__call__`."""
        check_parts(model, likelihood)
        beta, scale = jnp.reshape(beta, ()), num_data / batch.y.shape[0]
        total = self._evidence(*without_gradient((model, likelihood, batch, scale)))
        posterior = self.posterior(total, beta)
        model = eqx.tree_at(lambda m: m.posterior, model, posterior)
        return self.objective(model, likelihood, batch, beta=beta, num_data=num_data, key=key)

    def _evidence(self, model, likelihood, batch, scale) -> Evidence:
        return collect(Basis(model), self.row_noise(likelihood), batch, scale)


class CollapsedBound(Collapsed):
    """min over q(u) of Σ_i E_q[−log N(y_i | f_i, σ²)] + β KL(q ‖ p): Titsias (2009) for any β.

    With Z = X and β = 1 it is the exact negative log marginal likelihood.
    """

    @property
    def objective(self) -> Objective:
        return Objective(Gibbs(LogLoss()), KL(), ClosedForm(), self.precision)

    def row_noise(self, likelihood: Gaussian) -> RowNoise:
        return lambda unexplained: jnp.full_like(unexplained, unwrap(likelihood.noise))

    def posterior(self, total: Evidence, beta: Float[Array, ""]) -> WhitenedGaussian:
        return WhitenedGaussian(*solve(total, beta))


class _LossGivenInducing(Loss):
    """E_q[−log N(y_i | a_iᵀv, σ² + Var[f_i | u])]; Var[f_i | u] is that of the second latent."""

    score: Score

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        assert isinstance(likelihood, Gaussian)
        mean = integrals.marginals.mean[0, :, 0]
        variance, unexplained = integrals.marginals.variance[0].T
        total = unwrap(likelihood.noise) + unexplained
        square = (integrals.y - mean) ** 2 + (variance - unexplained)
        return 0.5 * (jnp.log(2.0 * jnp.pi * total) + square / total)

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()


class _KLOfFirst(Divergence):
    """KL of the first latent function only."""

    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        mean, scale = posterior.moments()
        return KL()(WhitenedGaussian(mean[:1], scale[:1]))


class FITC(Collapsed):
    """−log p(y) where y_i | u ~ N(mean_i + k_iu K_uu⁻¹ u, σ² + Var[f_i | u]), independently.

    Snelson and Ghahramani (2006), in the collapsed form that `dlm` compares with. At β = 1
    the minimum over q(u) of Σ_i E_q[−log p(y_i | u)] + β KL(q ‖ p) is that marginal
    likelihood and q* the FITC posterior; other β temper the prior as in β-ELBO.
    """

    @property
    def objective(self) -> Objective:
        loss = _LossGivenInducing(LogLoss())
        return Objective(loss, _KLOfFirst(), ClosedForm(), self.precision)

    def row_noise(self, likelihood: Gaussian) -> RowNoise:
        return lambda unexplained: unexplained + unwrap(likelihood.noise)

    def posterior(self, total: Evidence, beta: Float[Array, ""]) -> WhitenedGaussian:
        """q*, and a second latent function with q(v) = N(0, 0): its variance is Var[f_i | u]."""
        mean, scale = solve(total, beta)
        return WhitenedGaussian(
            jnp.concatenate([mean, jnp.zeros_like(mean)]),
            jnp.concatenate([scale, jnp.zeros_like(scale)]),
        )


class CollapsedSquareLoss(Collapsed):
    """min over m of ½Σ_i(y_i − k_iu K_uu⁻¹ m)² + (β/2) mᵀK_uu⁻¹m: square-loss DLM.

    `dlm` section 2, supplement section 4 ("the optimization for m has a closed form").
    The objective does not depend on the noise, and multiplying the kernel by c is the same as
    dividing β by c, so the loss does not determine the predictive variance. `finish` fits it by
    leave-one-out and does not change the mean (see `calibration`).
    """

    @property
    def objective(self) -> Objective:
        return Objective(Direct(SquareLoss()), KL(), ClosedForm(), self.precision)

    def row_noise(self, likelihood: Gaussian) -> RowNoise:
        return jnp.ones_like

    def posterior(self, total: Evidence, beta: Float[Array, ""]) -> WhitenedGaussian:
        """The optimal mean, with the covariance of the prior, which minimises the KL term."""
        mean, scale = solve(total, beta)
        return WhitenedGaussian(mean, jnp.eye(scale.shape[-1], dtype=scale.dtype)[None])

    def _finished(self, model, likelihood, batch, beta) -> tuple[SparseGP, Gaussian]:
        """The model with the optimal mean, and with variance and noise fitted by leave-one-out."""
        return calibrated(model, batch, beta)


@eqx.filter_jit
def _optimum(collapsed: Collapsed, model, likelihood, batch, beta) -> WhitenedGaussian:
    total = collapsed._evidence(model, likelihood, batch, jnp.ones(()))
    return collapsed.posterior(total, beta)
