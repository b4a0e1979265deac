"""`Stack`: base class of weighted mixtures of fitted models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.likelihoods import Likelihood
from directgp.tables import Standardiser, check_inputs, check_names

FAR = 30.0
"""Standardised inputs are clipped at this value, because there are no training rows beyond it."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Stack(ABC):
    """A mixture of fitted models, each calibrated on out-of-fold predictions.

    `repr` lists members and weights; `predict` returns the distribution of y at new rows.
    """

    members: tuple[Any, ...]
    weights: Float[np.ndarray, "K"]
    inputs: Standardiser
    """The scales of the input columns."""
    loss: str
    """The name of the loss that the weights minimise."""
    seconds: float
    out_of_fold: Float[np.ndarray, "N"] = field(repr=False)
    """−log p(y) of training rows, out of fold (standardised units)."""
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""
    num_outputs: int = 1

    @property
    def learned_target(self) -> str:
        """The target of the members: "y", or "log y"."""
        return "y"

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """A likelihood with the support of the predicted y."""

    @property
    @abstractmethod
    def steepness(self) -> Float[np.ndarray, "D"]:
        """The sensitivity of predictions to each standardised input, up to a factor."""

    @abstractmethod
    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> Any:
        """The predictive distribution of y at every row of X, independent of the other rows.

        Args:
            X: rows with the columns that the model was fitted to.
            precision: ignored, for the interface of other fits; a stack computes in float64.
        """

    @abstractmethod
    def _learned(self, member: Any, columns: Sequence[Any]) -> dict[str, Any]:
        """The learned parameters of a member, with these names of the input columns."""

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
        """The standardised rows; an error if the columns differ from those of the fit."""
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        return np.clip(self.inputs.forward_inputs(values), -FAR, FAR)

    @property
    def shares(self) -> dict[str, float]:
        """The weight of each member by its name."""
        pairs = zip(self.members, self.weights.tolist(), strict=True)
        return {member.name: weight for member, weight in pairs}

    def columns(self, names: Sequence[Any] | None) -> list[Any]:
        """Names of the input columns: those given, else those of the frame, else x0, x1, …"""
        given = self.names if names is None else names
        return [f"x{k}" for k in range(len(self.inputs.shift))] if given is None else list(given)

    def relevance(self, names: Sequence[str]) -> dict[str, float]:
        """The share of every input in the total steepness, the largest first; {} if unknown.

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
