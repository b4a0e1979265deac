"""`Wrapped`: a model around another one, whose posteriors and GPs are its own."""

from abc import abstractmethod
from typing import Any

from directgp.divergences.base import WhitenedGaussian
from directgp.models.base import Model


class Wrapped(Model):
    """A model that changes what goes into another one, or what comes out."""

    @property
    @abstractmethod
    def inner(self) -> Model:
        """The other model."""

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        return self.inner.posteriors

    @property
    def posteriors_by_layer(self) -> tuple[tuple[WhitenedGaussian, ...], ...]:
        return self.inner.posteriors_by_layer

    @property
    def depth(self) -> int:
        return self.inner.depth

    @property
    def top_gps(self) -> tuple[Any, ...]:
        return self.inner.top_gps

    @property
    def top_means(self) -> tuple[Any, ...]:
        return self.inner.top_means
