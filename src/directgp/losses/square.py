"""Square loss: ½(y − ŷ)²."""

from typing import ClassVar

from jaxtyping import Array, Float

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import ConditionalMean, SquaredError
from directgp.losses.base import Direct, Gibbs, Integrals, Need, Score, losses, scores


@scores.register("square")
class SquareLoss(Score):
    """½(y − ŷ)² (`dlm` section 2, with its ½).

    Gibbs: E_q[½(y − E[y|f])²]. Direct: ½(y − E_q[y])², the loss of the predictive mean.
    """

    gibbs_needs: ClassVar[tuple[Need, ...]] = ((SquaredError, "mean"),)
    direct_needs: ClassVar[tuple[Need, ...]] = ((ConditionalMean, "mean"),)

    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return integrals.mean(SquaredError(likelihood))

    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return 0.5 * (integrals.y - integrals.mean(ConditionalMean(likelihood))) ** 2


losses.register("gibbs-square")(lambda: Gibbs(SquareLoss()))
losses.register("direct-square")(lambda: Direct(SquareLoss()))
losses.alias("square", "direct-square")
