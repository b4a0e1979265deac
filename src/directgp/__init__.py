"""directgp: Gaussian processes trained for the loss their predictions will be judged by.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

Where each term lives:

=================  ==========================================================
`objective`        the equation itself
`losses`           loss: Gibbs(score) or Direct(score); scores log, square, CRPS, pinball
`likelihoods`      p(y | f)
`expectations`     how integrals over f are done
`divergences`      divergence(q ‖ p)
`models`           q at x: sparse GPs and their collapsed forms
`kernels`          what "similar inputs" means
`training`         how it is minimised, and how β is chosen
`predictive`       what comes back, in the user's units; `metrics` scores it
`estimators`       the same for scikit-learn users
`persistence`      one file for a model, read back to the bit
=================  ==========================================================
"""

from directgp import metrics, plots
from directgp.divergences import KL, Divergence, WhitenedGaussian
from directgp.estimators import GPClassifier, GPRegressor
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
from directgp.losses import CRPS, Direct, Gibbs, LogLoss, Loss, Pinball, Score, SquareLoss
from directgp.marginals import Marginals
from directgp.models import ConstantMean, SparseGP, ZeroMean
from directgp.objective import Batch, Objective
from directgp.persistence import load, save
from directgp.predictive import GaussianMixture, Predictive
from directgp.training import GP, TrainingWarning, beta_grid
from directgp.version import __version__ as __version__

__all__ = [
    "Batch",
    "BernoulliLogit",
    "BernoulliProbit",
    "CRPS",
    "Categorical",
    "CentredQuadrature",
    "ClosedForm",
    "ConstantMean",
    "Direct",
    "Divergence",
    "Expectation",
    "FittedGP",
    "GP",
    "GPClassifier",
    "GPRegressor",
    "GaussHermite",
    "Gaussian",
    "GaussianMixture",
    "Gibbs",
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
    "Objective",
    "OnColumns",
    "Pinball",
    "PoissonExp",
    "PoissonSoftplus",
    "Predictive",
    "ProductSampling",
    "RBF",
    "Score",
    "SparseGP",
    "SquareLoss",
    "StudentT",
    "TrainingWarning",
    "WhitenedGaussian",
    "ZeroMean",
    "beta_grid",
    "fit",
    "fit_collapsed",
    "from_gpjax",
    "from_tinygp",
    "load",
    "metrics",
    "plots",
    "save",
]
