"""Log loss: −log p(y), the score that rewards calibrated distributions."""

from typing import ClassVar

from jaxtyping import Array, Float

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import LogProb
from directgp.losses.base import Integrals, Need, Score


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
