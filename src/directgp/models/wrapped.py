"""`Wrapped`: base class of models that transform the inputs or outputs of another model."""

from abc import abstractmethod
from typing import Any

from directgp.divergences.base import WhitenedGaussian
from directgp.models.base import Model


class Wrapped(Model):
    """A model with the posteriors and GPs of the inner model."""

    @property
    @abstractmethod
    def inner(self) -> Model:
        """The model whose inputs or outputs are transformed."""

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        return self.inner.posteriors

    @property
    def posteriors_by_layer(self) -> tuple[tuple[WhitenedGaussian, ...], ...]:
        return self.inner.posteriors_by_layer

    @property
    def inner_posteriors(self) -> tuple[WhitenedGaussian, ...]:
        return self.inner.inner_posteriors

    @property
    def depth(self) -> int:
        return self.inner.depth

    @property
    def top_gps(self) -> tuple[Any, ...]:
        return self.inner.top_gps

    @property
    def top_means(self) -> tuple[Any, ...]:
        return self.inner.top_means
