"""Options of `directgp fit` that say more about the model and its training than most need.

They have the names of the fields of `Sparse`, `Decoupled`, `Deep`, `Exact` and `Training`, which
check them.
"""

from typing import Annotated

from directgp.cli.options import how

LearnFrom = Annotated[
    int | None, how("Rows that most steps of --inference exact see. Default: 600.", "N")
]
Width = Annotated[
    int | None,
    how("Outputs of an inner layer. Default: 8, or the number of inputs if that is less.", "W"),
]
Deep = Annotated[
    str, how("How layers are joined: sigma-points (learned), or samples (a deep GP).", "HOW")
]
Features = Annotated[
    str | None, how("mlp: a neural network in front of the model, trained with it.", "NAME")
]
FeatureWidths = Annotated[
    list[int] | None,
    how("The width of each layer of the network, one --feature-widths a layer.", "W"),
]
NumSites = Annotated[
    int | None, how("Sigma points of a deep model (default: 4), or samples in training (8).", "Q")
]
Quadrature = Annotated[
    str | None, how("How sigma points are placed: qr1, qr2 or qr3. Default: qr3.", "RULE")
]
Starts = Annotated[
    int | None,
    how("Initial values of sigma points that are tried; the best is trained. Default: 3.", "K"),
]
PredictSamples = Annotated[
    int | None, how("Samples of --deep samples when it predicts. Default: 50.", "S")
]
Skip = Annotated[bool, how("Let every layer see the inputs too.", None, "--skip")]
OwnKernels = Annotated[
    bool,
    how(
        "A kernel and inducing points for each latent function, not shared ones.",
        None,
        "--own-kernels",
    ),
]
MeanInducing = Annotated[
    int | None, how("Further inducing points that serve the mean alone (a decoupled GP).", "M")
]
MeanField = Annotated[
    bool | None,
    how(
        "The covariance of q(u). Default: diagonal with several layers, else full.",
        None,
        "--mean-field/--full-covariance",
    ),
]
Divergence = Annotated[
    list[str] | None,
    how(
        "What the penalty is: kl (default), weighted-kl:w=0.5, renyi:alpha=0.5; given "
        "several times, one for each layer.",
        "NAME",
    ),
]
Expectation = Annotated[
    str | None,
    how(
        "How integrals over f are done: closed-form, gauss-hermite:points=32, "
        "monte-carlo:samples=10, product-sampling … Default: the most exact there is.",
        "NAME",
    ),
]
Hyperparameters = Annotated[
    str, how("joint learns them with the posterior; from-elbo takes them from an ELBO fit.", "HOW")
]
BatchSize = Annotated[int, how("Rows of a step of training.", "B")]
LearningRate = Annotated[float | None, how("Adam's. Default: 0.05, of several layers 0.02.", "R")]
Patience = Annotated[
    int | None,
    how("End after so many chunks of steps without a better loss on held-out rows.", "K"),
]
Precision = Annotated[str, how("auto, float64 or mixed.", "KIND")]
Tolerance = Annotated[
    float | None,
    how(
        "Training on all rows ends when the loss a row moved by at most this over --window "
        "steps. Default: 1e-4.",
        "T",
    ),
]
Window = Annotated[int | None, how("See --tolerance. Default: 50.", "S")]
