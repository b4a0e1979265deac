"""`Joint`: the loss of the joint distribution of all outputs of a row."""

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.vector import vector_of
from directgp.losses.base import Direct, Gibbs, Integrals, Loss, Need, Score, losses
from directgp.losses.log import LogLoss
from directgp.losses.robust import BetaLoss, GammaLoss, RobustScore
from directgp.marginals import OutputMarginals


class Joint(Loss):
    """A loss of the vector y of a row: ``Joint(Direct(LogLoss()))`` is −log E_q[Π_t p(y_t | f_t)].

    The product is over the measured outputs. Unlike the sum over outputs of −log E_q[p(y_t | f_t)],
    it depends on the correlations between outputs. Robust scores use the density of the vector
    (`gvi` Theorem 1). For one output it equals the wrapped loss.

    >>> from directgp.losses import Direct, SquareLoss
    >>> Joint(Direct(SquareLoss()))
    Traceback (most recent call last):
    directgp.errors.DirectGPError: SquareLoss of several outputs is the sum over them; leave out ...
    """

    loss: Loss

    def __init__(self, loss: Loss):
        self.loss = loss

    def __check_init__(self):
        if not isinstance(self.loss.score, LogLoss | RobustScore):
            raise DirectGPError(
                f"{type(self.loss.score).__name__} of several outputs is the sum over them; leave "
                "out Joint, which is for the log loss and robust losses"
            )

    @property
    def score(self) -> Score:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The score of the wrapped loss."""
        return self.loss.score

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return self.loss(likelihood, integrals)

    def of_outputs(
        self,
        likelihood: Likelihood,
        q: OutputMarginals,
        Y: Float[Array, "N T"],
        expectation: Expectation,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "N"]:
        """loss(y_i, q at x_i) of the measured outputs of every row together."""
        measured = ~jnp.isnan(Y)
        values = jnp.where(measured, Y, 0.0)
        rows = vector_of(likelihood, q.mixing, measured)
        return self(rows, Integrals(values, q.latents, expectation, key))

    def scored(self, likelihood: Likelihood) -> Likelihood:
        """The likelihood of whole rows; two outputs stand for any number of them."""
        return vector_of(likelihood, jnp.ones((2, 2)), jnp.ones((1, 2), bool))

    @property
    def direct(self) -> Loss:
        return Joint(self.loss.direct)

    def with_score(self, score: Score) -> Loss:
        return Joint(self.loss.with_score(score))

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.loss.needs


losses.register("joint-log")(lambda: Joint(Direct(LogLoss())))
losses.register("joint-gibbs-robust-beta")(lambda: Joint(Gibbs(BetaLoss())))
losses.register("joint-direct-robust-beta")(lambda: Joint(Direct(BetaLoss())))
losses.register("joint-gibbs-robust-gamma")(lambda: Joint(Gibbs(GammaLoss())))
losses.register("joint-direct-robust-gamma")(lambda: Joint(Direct(GammaLoss())))
