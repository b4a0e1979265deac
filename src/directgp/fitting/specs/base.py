"""`ModelSpec`: base class of model specs, with the options that all models share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.divergences import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.fitting.checks import check_choice, check_count, check_switch, plain_number
from directgp.kernels import Kernel, kernels
from directgp.likelihoods import Likelihood
from directgp.models import (
    ConstantMean,
    MeanFunction,
    Model,
    OnFeatures,
    SparseGP,
    ZeroMean,
    feature_maps,
)
from directgp.parameters import on_device
from directgp.training.initialise import default_num_inducing, inducing_inputs, initial_kernel

FEATURE_WIDTHS = (64, 64, 8)
"""Default widths of the layers of a network."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec(ABC):
    """The options of a model, from which `fit` builds the initial model for the data.

    A subclass is a frozen dataclass that adds fields and `on_inputs`; its `__post_init__` checks
    them and then calls this one's.
    """

    mean: Literal["zero", "constant"] = "zero"
    """The prior mean: zero, or a constant that is learned."""
    num_inducing: int | None = None
    """The most inducing points of a layer; None: 3√n of n rows, between 20 and 500."""
    mean_field: bool = False
    """Whether the covariance of q(u) is diagonal (faster), not full."""
    features: str | None = None
    """The name of a network that transforms the inputs and is trained with the model: "mlp"."""
    feature_widths: tuple[int, ...] | None = None
    """The widths of the network's layers; None: (64, 64, 8)."""

    def __post_init__(self):
        check_choice("mean", self.mean, ("zero", "constant"))
        self._count("num_inducing", optional=True)
        check_switch("mean_field", self.mean_field)
        if self.features is not None:
            feature_maps.lookup(self.features)
        if self.feature_widths is None:
            return
        if self.features is None:
            raise DirectGPError(
                f"feature_widths={tuple(self.feature_widths)} has no effect without a network; "
                "give features='mlp' too"
            )
        widths = tuple(plain_number(width) for width in self.feature_widths)
        for width in widths:
            check_count("each of feature_widths", width)
        self._set("feature_widths", widths)

    @property
    def depth(self) -> int:
        """The number of layers."""
        return 1

    def initial_model(
        self, X: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N"], likelihood: Likelihood,
        seed: int,
    ) -> Model:  # fmt: skip
        """The initial model, before training; the data are used for initial values only.

        Args:
            X: standardised inputs.
            y: standardised targets.
            likelihood: says how many latent functions there are.
            seed: of k-means and of the network's weights.
        """
        return self.of_latents(X, likelihood.initial_latent(y), seed)

    def of_latents(
        self, X: Float[np.ndarray, "N D"], constants: Float[np.ndarray, "P"], seed: int
    ) -> Model:
        """The initial model with one latent function per constant.

        Args:
            X: standardised inputs.
            constants: initial values of constant prior means.
            seed: of k-means and of the network's weights.
        """
        mean = ConstantMean(constants) if self.mean == "constant" else ZeroMean()
        if self.features is None:
            return self.on_inputs(X, mean, len(constants), seed)
        widths = self.feature_widths or FEATURE_WIDTHS
        network = feature_maps.create(self.features, X, widths, seed)
        inputs = np.asarray(network(on_device(X)))
        return OnFeatures(network, self.on_inputs(inputs, mean, len(constants), seed))

    @abstractmethod
    def on_inputs(
        self, inputs: Float[np.ndarray, "N D"], mean: MeanFunction, latents: int, seed: int
    ) -> Model:
        """The initial model after the network, if there is one.

        Args:
            inputs: standardised training inputs, or their features.
            mean: the prior mean of the last layer.
            latents: the number of latent functions.
            seed: of all random numbers.
        """

    def sparse_gp(
        self,
        inputs: Float[np.ndarray, "N D"],
        kernel: str | Kernel,
        mean: MeanFunction,
        latents: int,
        seed: int,
        posterior_std: float = 1.0,
    ) -> SparseGP:
        """One layer with its inducing inputs at k-means centres.

        Args:
            inputs: rows among which inducing inputs are chosen.
            kernel: a name or an instance.
            mean: the prior mean.
            latents: the number of latent functions.
            seed: of k-means.
            posterior_std: the initial deviation of the whitened q(u).
        """
        number = self.num_inducing or default_num_inducing(len(inputs))
        prior = initial_kernel(kernel, inputs, seed)
        Z = inducing_inputs(inputs, number, seed)
        posterior = WhitenedGaussian.prior(len(Z), latents, self.mean_field, posterior_std)
        return SparseGP(prior, on_device(Z), posterior, mean)

    def _count(self, name: str, least: int = 1, *, optional: bool = False) -> None:
        """Validate an integer field and convert it to a Python int."""
        value = plain_number(getattr(self, name))
        if value is None and optional:
            return
        check_count(name, value, least)
        self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        """Set a field in `__post_init__`; the dataclass is frozen."""
        object.__setattr__(self, name, value)


def check_kernel(kernel: Any) -> None:
    """Raise an error unless this is a kernel or the name of one."""
    if isinstance(kernel, str):
        kernels.lookup(kernel)
    else:
        kernels.resolve(kernel)
