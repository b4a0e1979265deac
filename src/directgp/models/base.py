"""Base classes of models: they return `Marginals` at inputs and hold variational posteriors."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.marginals import Marginals, OutputMarginals


class Conditioned(eqx.Module):
    """A model after its M×M factorisations: cheap to evaluate on many batches."""

    @abstractmethod
    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        """q(f) at every row; a row's result never depends on the other rows."""

    def outputs(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> OutputMarginals:
        """q(f) of all outputs at every row, where the model has several."""
        raise DirectGPError(
            f"{type(self).__name__} has one output, not a vector of them; put MultiOutput around it"
        )

    @property
    def components(self) -> int:
        """Number of mixture components per row (sigma points or samples of a deep model)."""
        return 1


class Model(eqx.Module):
    """A prior over functions and an approximate posterior.

    Fields declare by `parameters.part` what training has to know of them.
    """

    @abstractmethod
    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        """Do the M×M algebra once; `precision` is "float64", "mixed" or "fast".

        `form` is a key of `moments.MOMENTS`, or "auto" for the best one to train with.
        """

    def for_prediction(self) -> "Model":
        """The model as it predicts, where that differs from how it trains; by default itself."""
        return self

    @property
    def ignores_zero_columns(self) -> bool:
        """Whether input columns of zeros have no effect; False if unknown.

        Such a model may be trained on inputs padded with zero columns.
        """
        return False

    @property
    def depth(self) -> int:
        """How many layers of Gaussian processes it has."""
        return 1

    @property
    def components(self) -> int:
        """As of `Conditioned`, while training."""
        return 1

    @property
    def top_gps(self) -> tuple[Any, ...]:
        """The `SparseGP`s of the last layer, as parts of this model; empty if unknown."""
        return ()

    @property
    def top_means(self) -> tuple[Any, ...]:
        """Parts of this model, [P M] each, in which the mean of f is affine: those of `top_gps`."""
        return ()

    @property
    @abstractmethod
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        """The whitened posteriors of all layers, the first layer first."""

    @property
    def posteriors_by_layer(self) -> tuple[tuple[WhitenedGaussian, ...], ...]:
        """`posteriors`, those of one layer together; each layer has one divergence and one β."""
        return tuple((posterior,) for posterior in self.posteriors)
