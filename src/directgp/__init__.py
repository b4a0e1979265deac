"""directgp: Gaussian processes trained for the loss their predictions will be judged by.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

Where each term lives:

=================  ==========================================================
`objective`        the equation itself
`losses`           loss: Gibbs(score) or Direct(score); scores log, square
`likelihoods`      p(y | f)
`expectations`     how integrals over f are done
`divergences`      divergence(q ‖ p)
`models`           q at x: sparse GPs and their collapsed forms
`kernels`          what "similar inputs" means
`training`         how it is minimised, and how β is chosen
`predictive`       what comes back, in the user's units; `metrics` scores it
`decisions`        costs, the actions they call for, loss-calibrated inference
=================  ==========================================================
"""

from directgp import metrics, plots
from directgp.decisions import (
    BinaryCost,
    Cost,
    CostMatrix,
    Decision,
    ExactGP,
    FunctionCost,
    IntervalCost,
    NewsvendorCost,
    RejectCost,
    SquareCost,
    decide,
    fit_exact,
    fit_for_cost,
    read_cost,
)
from directgp.divergences import KL, Divergence, WhitenedGaussian
from directgp.expectations import (
    CentredQuadrature,
    ClosedForm,
    Expectation,
    GaussHermite,
    MonteCarlo,
    ProductSampling,
)
from directgp.fitting import FittedGP, fit
from directgp.fitting_collapsed import fit_collapsed
from directgp.kernels import (
    RBF,
    Kernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    OnColumns,
    from_gpjax,
    from_tinygp,
)
from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Categorical,
    Gaussian,
    Likelihood,
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
)
from directgp.losses import CostScore, Direct, Gibbs, LogLoss, Loss, Score, SquareLoss
from directgp.marginals import Marginals
from directgp.models import ConstantMean, SparseGP, ZeroMean
from directgp.objective import Batch, Objective
from directgp.predictive import GaussianMixture, Predictive
from directgp.training import GP, TrainingWarning, beta_grid

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BernoulliLogit",
    "BernoulliProbit",
    "BinaryCost",
    "Categorical",
    "CentredQuadrature",
    "ClosedForm",
    "ConstantMean",
    "Cost",
    "CostMatrix",
    "CostScore",
    "Decision",
    "Direct",
    "Divergence",
    "ExactGP",
    "Expectation",
    "FittedGP",
    "FunctionCost",
    "GP",
    "GaussHermite",
    "Gaussian",
    "GaussianMixture",
    "Gibbs",
    "IntervalCost",
    "KL",
    "Kernel",
    "Likelihood",
    "Linear",
    "LogLoss",
    "Loss",
    "Marginals",
    "Matern12",
    "Matern32",
    "Matern52",
    "MonteCarlo",
    "NegativeBinomialExp",
    "NegativeBinomialSoftplus",
    "NewsvendorCost",
    "Objective",
    "OnColumns",
    "PoissonExp",
    "PoissonSoftplus",
    "Predictive",
    "ProductSampling",
    "RBF",
    "RejectCost",
    "Score",
    "SparseGP",
    "SquareCost",
    "SquareLoss",
    "StudentT",
    "TrainingWarning",
    "WhitenedGaussian",
    "ZeroMean",
    "beta_grid",
    "decide",
    "fit",
    "fit_collapsed",
    "fit_exact",
    "fit_for_cost",
    "from_gpjax",
    "from_tinygp",
    "metrics",
    "plots",
    "read_cost",
]
