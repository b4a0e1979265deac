"""Log loss: −log p(y)."""

from typing import ClassVar

from jaxtyping import Array, Float

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import LogProb
from directgp.losses.base import Direct, Gibbs, Integrals, Need, Score, losses, scores


@scores.register("log")
class LogLoss(Score):
    """−log predictive density of the observed y (`dlm` section 1.1, `dspp` PPGPR).

    Gibbs: E_q[−log p(y | f)], the data term of the ELBO.
    Direct: −log E_q[p(y | f)], never larger than Gibbs (Jensen).
    """

    gibbs_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "mean"),)
    direct_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "log_mean_exp"),)

    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return -integrals.mean(LogProb(likelihood))

    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return -integrals.log_mean_exp(LogProb(likelihood))


losses.register("elbo")(lambda: Gibbs(LogLoss()))
losses.register("direct-log")(lambda: Direct(LogLoss()))
losses.alias("log", "direct-log")
