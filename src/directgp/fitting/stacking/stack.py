"""`Stack`: what every weighted mixture of fitted models has, whatever it predicts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.likelihoods import Likelihood
from directgp.tables import Standardiser

FAR = 30.0
"""Standardised inputs beyond this count as this far away: trees and GPs know nothing out there."""


class Stack(ABC):
    """Several fitted models of one table, weighed by rows that they had not seen."""

    members: tuple[Any, ...]
    weights: Float[np.ndarray, "K"]
    inputs: Standardiser
    loss: str
    seconds: float
    out_of_fold: Float[np.ndarray, "N"]
    names: tuple[str, ...] | None
    num_outputs: int

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """One whose outcomes are those that the stack predicts."""

    @property
    @abstractmethod
    def steepness(self) -> Float[np.ndarray, "D"]:
        """How fast predictions change along each standardised input, in any unit."""

    @abstractmethod
    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> Any:
        """The predictive distribution of y at every row of X; rows never influence each other."""

    @abstractmethod
    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """The members by name with their weights, and what each has learned."""

    @property
    def shares(self) -> dict[str, float]:
        """The weight of each member by its name."""
        pairs = zip(self.members, self.weights.tolist(), strict=True)
        return {member.name: weight for member, weight in pairs}

    def columns(self, names: Sequence[Any] | None) -> list[Any]:
        """The given names of the input columns, else those of the frame, else x0, x1, …"""
        given = self.names if names is None else names
        return [f"x{k}" for k in range(len(self.inputs.shift))] if given is None else list(given)

    def relevance(self, names: Sequence[str]) -> dict[str, float]:
        """The steepness along every input as a share of all, the largest first; {} if unknown.

        Args:
            names: of the inputs.
        """
        total = self.steepness.sum()
        if not total > 0:
            return {}
        shares = self.steepness / total
        order = np.argsort(-shares, kind="stable")
        return {str(names[int(k)]): float(shares[k]) for k in order}

    def __repr__(self) -> str:
        shares = ", ".join(f"{name} {weight:.0%}" for name, weight in self.shares.items())
        return (
            f"{type(self).__name__}: {shares}; {len(self.inputs.shift)} inputs, weights for the "
            f"{self.loss} loss; {self.seconds:.1f} s; out-of-fold loss "
            f"{np.mean(self.out_of_fold):.4g}"
        )
