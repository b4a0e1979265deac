"""directgp: Gaussian processes trained for the loss their predictions will be judged by.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

Where each term lives:

=================  ==========================================================
`objective`        the equation itself
`losses`           loss: Gibbs or Direct; scores log, square, robust, CRPS, pinball
`likelihoods`      p(y | f)
`expectations`     how integrals over f are done
`divergences`      divergence(q ‖ p)
`models`           q at x: sparse, deep, decoupled, multi-output GPs, collapsed forms
`kernels`          what "similar inputs" means
`training`         how it is minimised, and how β is chosen
`predictive`       what comes back, in the user's units; `metrics` scores it
`estimators`       the same for scikit-learn users
`persistence`      one file for a model, read back to the bit
=================  ==========================================================
"""

from directgp import metrics, plots
from directgp.divergences import KL, Divergence, PerLayer, Renyi, WeightedKL, WhitenedGaussian
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
from directgp.fitting_outputs import FittedOutputs, fit_outputs
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
    GaussianOutputs,
    Likelihood,
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
)
from directgp.losses import (
    CRPS,
    BetaLoss,
    Direct,
    GammaLoss,
    Gibbs,
    LogLoss,
    Loss,
    Pinball,
    Score,
    SquareLoss,
)
from directgp.marginals import Marginals
from directgp.models import (
    MLP,
    ConstantMean,
    DecoupledGP,
    Deep,
    Independent,
    LinearMean,
    MultiOutput,
    OnFeatures,
    SparseGP,
    ZeroMean,
    deep_gp,
    deep_sigma_points,
)
from directgp.objective import Batch, Objective
from directgp.persistence import load, save
from directgp.predictive import GaussianMixture, Predictive
from directgp.training import GP, TrainingWarning, beta_grid
from directgp.version import __version__ as __version__

__all__ = [
    "Batch",
    "BernoulliLogit",
    "BernoulliProbit",
    "BetaLoss",
    "CRPS",
    "Categorical",
    "CentredQuadrature",
    "ClosedForm",
    "ConstantMean",
    "DecoupledGP",
    "Deep",
    "Direct",
    "Divergence",
    "Expectation",
    "FittedGP",
    "FittedOutputs",
    "GP",
    "GPClassifier",
    "GPRegressor",
    "GammaLoss",
    "GaussHermite",
    "Gaussian",
    "GaussianMixture",
    "GaussianOutputs",
    "Gibbs",
    "Independent",
    "KL",
    "Kernel",
    "Likelihood",
    "Linear",
    "LinearMean",
    "LogLoss",
    "Loss",
    "MLP",
    "Marginals",
    "Matern12",
    "Matern32",
    "Matern52",
    "MonteCarlo",
    "MultiOutput",
    "NegativeBinomialExp",
    "NegativeBinomialSoftplus",
    "Objective",
    "OnColumns",
    "OnFeatures",
    "PerLayer",
    "Pinball",
    "PoissonExp",
    "PoissonSoftplus",
    "Predictive",
    "ProductSampling",
    "RBF",
    "Renyi",
    "Score",
    "SparseGP",
    "SquareLoss",
    "StudentT",
    "TrainingWarning",
    "WeightedKL",
    "WhitenedGaussian",
    "ZeroMean",
    "beta_grid",
    "deep_gp",
    "deep_sigma_points",
    "fit",
    "fit_collapsed",
    "fit_outputs",
    "from_gpjax",
    "from_tinygp",
    "load",
    "metrics",
    "plots",
    "save",
]
