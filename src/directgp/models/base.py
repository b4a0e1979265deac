"""Base classes of models, which hold variational posteriors and return `Marginals` at inputs."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.kernels.base import Kernel
from directgp.marginals import Marginals, OutputMarginals


class Conditioned(eqx.Module):
    """A model after its M×M factorisations, which can be evaluated on many batches."""

    @abstractmethod
    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        """q(f) at every row, independent of the other rows.

        Args:
            X: inputs.
            key: for models that draw samples.
        """

    def outputs(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> OutputMarginals:
        """q(f) of all outputs at every row, for models with several outputs.

        Args:
            X: inputs.
            key: for models that draw samples.
        """
        raise DirectGPError(
            f"{type(self).__name__} has one output, not a vector of them; put MultiOutput around it"
        )

    @property
    def components(self) -> int:
        """Number of mixture components per row (sigma points or samples of a deep model)."""
        return 1


class Model(eqx.Module):
    """A prior over functions and an approximate posterior.

    Fields declare their learning rate and their columns by `parameters.part`.
    """

    @abstractmethod
    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        """Do the M×M algebra once, for any number of batches.

        Args:
            precision: of the [M N] work: "float64", "mixed" or "fast".
            form: a key of `moments.MOMENTS`, or "auto" for the fastest one in training.
        """

    def for_prediction(self) -> "Model":
        """The model to predict with, if it differs from the one in training; by default itself."""
        return self

    @property
    def ignores_zero_columns(self) -> bool:
        """Whether input columns of zeros have no effect; False if unknown.

        Such a model may be trained on inputs padded with zero columns.
        """
        return False

    @property
    def depth(self) -> int:
        """The number of layers of Gaussian processes."""
        return 1

    @property
    def components(self) -> int:
        """The number of mixture components per row in training; see `Conditioned`."""
        return 1

    @property
    def input_kernel(self) -> Kernel | None:
        """The kernel of the inputs themselves; None for deep models and behind networks."""
        return None

    @property
    def top_gps(self) -> tuple[Any, ...]:
        """The `SparseGP`s of the last layer; empty if there are none."""
        return ()

    @property
    def top_means(self) -> tuple[Any, ...]:
        """The leaves [P M] of the last layer in which the mean of f is affine."""
        return ()

    @property
    @abstractmethod
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        """The whitened posteriors, from the first layer to the last."""

    @property
    def posteriors_by_layer(self) -> tuple[tuple[WhitenedGaussian, ...], ...]:
        """`posteriors` grouped by layer; each layer has one divergence and one β."""
        return tuple((posterior,) for posterior in self.posteriors)

    @property
    def inner_posteriors(self) -> tuple[WhitenedGaussian, ...]:
        """The leaves of this model that are posteriors of layers below the last."""
        return ()

    def with_fresh_posterior(self, mean_field: bool) -> "Model":
        """The model with its hyperparameters held fixed (`lent`) and q(u) equal to the prior.

        Args:
            mean_field: whether the covariance of the new q(u) is diagonal.
        """
        raise DirectGPError(
            f"a {type(self).__name__} model of {self.depth} layers cannot lend its "
            "hyperparameters: its upper layers were learned for the posteriors of the layers "
            "below, which would start anew; use hyperparameters='joint'"
        )
