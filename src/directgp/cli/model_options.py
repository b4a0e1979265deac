"""Advanced options of `directgp fit`: fields of the specs, which check their values.

They have the names of the fields of `Sparse`, `Decoupled`, `Deep`, `Exact` and `Training`.
"""

from typing import Annotated

from directgp.cli.options import how

LearnFrom = Annotated[
    int | None, how("Rows used in most steps of --inference exact. Default: 600.", "N")
]
Width = Annotated[
    int | None,
    how("Outputs of an inner layer. Default: 8, or the number of inputs if that is less.", "W"),
]
Deep = Annotated[
    str, how("Propagation between layers: sigma-points (learned), or samples (a deep GP).", "HOW")
]
Features = Annotated[
    str | None, how("mlp: a neural network as feature extractor, trained jointly.", "NAME")
]
FeatureWidths = Annotated[
    list[int] | None,
    how("The width of a layer of the network; give it once for each layer.", "W"),
]
NumSites = Annotated[
    int | None, how("Sigma points of a deep model (default: 4), or samples in training (8).", "Q")
]
Quadrature = Annotated[
    str | None, how("The rule of the sigma points: qr1, qr2 or qr3. Default: qr3.", "RULE")
]
Starts = Annotated[
    int | None,
    how("Initial values of sigma points that are tried; the best is trained. Default: 3.", "K"),
]
PredictSamples = Annotated[
    int | None, how("Samples at prediction, for --deep samples. Default: 50.", "S")
]
Skip = Annotated[bool, how("Give the inputs to every layer.", None, "--skip")]
OwnKernels = Annotated[
    bool,
    how(
        "Separate kernels and inducing points for latent functions.",
        None,
        "--own-kernels",
    ),
]
MeanInducing = Annotated[
    int | None, how("Further inducing points for the mean alone (a decoupled GP).", "M")
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
        "Divergence from the prior: kl (default), weighted-kl:w=0.5, renyi:alpha=0.5; give it "
        "several times for one per layer.",
        "NAME",
    ),
]
Expectation = Annotated[
    str | None,
    how(
        "How integrals over f are computed: closed-form, gauss-hermite:points=32, "
        "monte-carlo:samples=10, product-sampling … Default: the most exact available.",
        "NAME",
    ),
]
Hyperparameters = Annotated[
    str, how("joint: learned with q(u); from-elbo: taken from an ELBO fit.", "HOW")
]
BatchSize = Annotated[int, how("Rows per mini-batch.", "B")]
LearningRate = Annotated[
    float | None, how("Learning rate of Adam. Default: 0.05, with several layers 0.02.", "R")
]
Patience = Annotated[
    int | None,
    how("Stop after so many chunks of steps without improvement on held-out rows.", "K"),
]
Precision = Annotated[str, how("auto, float64 or mixed.", "KIND")]
Tolerance = Annotated[
    float | None,
    how(
        "Full-batch training ends when the objective per row moved by at most this over --window "
        "steps. Default: 1e-4.",
        "T",
    ),
]
Window = Annotated[int | None, how("See --tolerance. Default: 50.", "S")]
