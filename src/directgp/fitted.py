"""`FittedGP`: a trained model in the user's units, what every fit returns."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.data import Standardiser, check_inputs
from directgp.models import Conditioned
from directgp.objective import Objective
from directgp.parameters import float64
from directgp.predictive import Predictive
from directgp.prepare import Donor
from directgp.training.evaluate import condition, marginals
from directgp.training.loop import GP, History


@dataclass(frozen=True)
class FittedGP:
    """A trained model that speaks the user's units."""

    gp: GP
    inputs: Standardiser
    targets: Standardiser
    objective: Objective
    beta: float
    beta_curve: dict[float, float]
    history: History
    reason: str
    seconds: float
    held_out: Float[np.ndarray, "V"] | None = field(default=None, repr=False)
    """The loss of every held-out row (standardised units), if rows were held out."""

    _ready: dict[str, Conditioned] = field(default_factory=dict, repr=False, compare=False)

    @float64
    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> Predictive:
        """The predictive distribution of y at every row of X; rows never influence each other.

        Inputs more than 1000 deviations from the training rows count as 1000 deviations away, for
        a linear kernel too. "mixed" precision is faster for very many rows and good to about 4
        digits.
        """
        check_choice("precision", precision, ("float64", "mixed"))
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        if precision not in self._ready:
            self._ready[precision] = condition(self.gp.model, precision)
        q = marginals(self._ready[precision], self.inputs.forward_inputs(values))
        predictive = self.gp.likelihood.predictive(q.mean, q.variance, q.log_weights)
        if not self.gp.likelihood.standardise_targets:
            return predictive
        return predictive.affine(float(self.targets.scale[0]), float(self.targets.shift[0]))

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: numbers as numpy arrays, which keep their precision wherever they go."""
        state = {item.name: getattr(self, item.name) for item in fields(self)}
        state["gp"], state["objective"] = jax.tree.map(
            lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf,
            (self.gp, self.objective),
        )
        return state | {"_ready": {}}

    @float64
    def __setstate__(self, state: dict[str, Any]) -> None:
        """In float64 whatever the setting is where it is unpickled."""
        gp, objective = jax.tree.map(
            lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf,
            (state["gp"], state["objective"]),
        )
        for name, value in (state | {"gp": gp, "objective": objective}).items():
            object.__setattr__(self, name, value)

    def model_inputs(self, X: Any, output: int = 0) -> Float[np.ndarray, "N D"]:
        """The rows as the model itself sees them: standardised."""
        return self.inputs.forward_inputs(check_inputs(X, num_columns=len(self.inputs.shift)))

    def with_history(self, history: History) -> "FittedGP":
        """The same model with another record of its training."""
        return replace(self, history=history)

    def lend(self) -> Donor:
        """These hyperparameters, for another fit to hold fixed."""
        return Donor(self.gp, self.inputs, self.targets)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices, and name them."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
