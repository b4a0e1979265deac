"""`Stack`: base class of weighted mixtures of fitted models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.likelihoods import Likelihood
from directgp.tables import Standardiser, check_inputs, check_names

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
    def learned_target(self) -> str:
        """What the members have learned: "y", or "log y"."""
        return "y"

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
        """The predictive distribution of y at every row of X, independent of the other rows."""

    @abstractmethod
    def _learned(self, member: Any, columns: Sequence[Any]) -> dict[str, Any]:
        """What a member has learned, by name, with these names of the input columns."""

    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """The members by name with their weights, and their learned parameters.

        Args:
            names: of the input columns; by default those of the frame it was fitted to.
        """
        columns = self.columns(names)
        return {
            member.name: {"weight": float(weight), **self._learned(member, columns)}
            for member, weight in zip(self.members, self.weights, strict=True)
        }

    def standardised(self, X: Any) -> Float[np.ndarray, "N D"]:
        """Rows of the user as the members see them; an error for other columns than in the fit."""
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        return np.clip(self.inputs.forward_inputs(values), -FAR, FAR)

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
        of_log = "" if self.learned_target == "y" else f" of {self.learned_target}"
        return (
            f"{type(self).__name__}{of_log}: {shares}; "
            f"{len(self.inputs.shift)} inputs, weights for the "
            f"{self.loss} loss; {self.seconds:.1f} s; out-of-fold loss "
            f"{np.mean(self.out_of_fold):.4g}"
        )


def check_finite(*predicted: np.ndarray) -> None:
    """Raise an error if a prediction has numbers that are not finite."""
    if not all(np.isfinite(part).all() for part in predicted):
        raise DirectGPError(
            "this model predicts numbers that are not finite; look for extreme values in X"
        )
