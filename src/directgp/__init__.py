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
=================  ==========================================================
"""

from directgp import metrics, plots
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
from directgp.losses import Direct, Gibbs, LogLoss, Loss, Score, SquareLoss
from directgp.marginals import Marginals
from directgp.models import ConstantMean, SparseGP, ZeroMean
from directgp.objective import Batch, Objective
from directgp.predicting_stream import predict_stream
from directgp.predictive import GaussianMixture, Predictive
from directgp.training import GP, TrainingWarning, beta_grid

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BernoulliLogit",
    "BernoulliProbit",
    "Categorical",
    "CentredQuadrature",
    "ClosedForm",
    "ConstantMean",
    "Direct",
    "Divergence",
    "Expectation",
    "FittedGP",
    "GP",
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
    "metrics",
    "plots",
    "predict_stream",
    "read_table",
    "write_table",
]
