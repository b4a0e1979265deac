"""What a model is: something that gives `Marginals` at inputs and holds posteriors."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.marginals import Marginals


class Conditioned(eqx.Module):
    """A model whose M×M algebra is done: cheap to evaluate at many batches."""

    @abstractmethod
    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        """q(f) at every row; a row's result never depends on the other rows."""

    @property
    def components(self) -> int:
        """How many Gaussians a row has: in deep models, at how many inputs it is evaluated."""
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
        """Whether input columns that are 0 everywhere change nothing; False where that is unsure.

        Such a model may be trained on padded inputs; its fields say which have an axis of columns.
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
        """The `SparseGP`s of the last layer, as parts of this model; none where that is unsure."""
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
