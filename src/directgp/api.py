"""The public names of directgp, in one place; `import directgp` loads them when first used."""

import directgp.metrics as metrics
import directgp.plots as plots
from directgp.data import (
    TableEncoder,
    TableError,
    TargetEncoder,
    find_target,
    guess_task,
    read_table,
    write_table,
)
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
from directgp.fitting_stream import StreamFit, fit_stream
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
from directgp.predicting_stream import predict_stream
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
    "StreamFit",
    "StudentT",
    "TableEncoder",
    "TableError",
    "TargetEncoder",
    "TrainingWarning",
    "WhitenedGaussian",
    "ZeroMean",
    "beta_grid",
    "find_target",
    "fit",
    "fit_collapsed",
    "fit_stream",
    "from_gpjax",
    "from_tinygp",
    "guess_task",
    "load",
    "metrics",
    "plots",
    "predict_stream",
    "read_table",
    "save",
    "write_table",
]
