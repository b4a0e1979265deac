"""`FittedGP`: a trained model in the user's units, what every fit returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.hyperparameters import (
    Units,
    hyperparameters,
    kernel_name,
    kernel_of,
    named_columns,
)
from directgp.fitting.mixture_check import components_at
from directgp.fitting.prepare import Donor
from directgp.models import Conditioned, Model
from directgp.objective import Objective
from directgp.parameters import float64
from directgp.predictive import ClassProbabilities, Predictive
from directgp.tables import Standardiser, check_inputs, check_names
from directgp.training.evaluate import condition, marginals
from directgp.training.loop import GP, History


@dataclass(frozen=True, eq=False)
class FittedGP:
    """A trained model that speaks the user's units.

    Printed it says in a line what it is; `hyperparameters()` are the numbers it has learned.
    """

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
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""
    support: float | None = None
    """The number of rows n that speak for the model (their total weight, if that is more).

    Class probabilities are no surer than n rows can support: (n p + 1/K)/(n + 1), the rule of
    succession. None, as in files of earlier versions, leaves them as the model has them.
    """

    _ready: dict[str, Conditioned] = field(default_factory=dict, repr=False, compare=False)

    @float64
    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> Predictive:
        """The predictive distribution of y at every row of X; rows never influence each other.

        Inputs more than 1000 deviations from the training rows count as 1000 deviations away, for
        a linear kernel too. "mixed" precision is faster for very many rows and good to about 4
        digits.
        """
        check_choice("precision", precision, ("float64", "mixed"))
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        if precision not in self._ready:
            self._ready[precision] = condition(self.gp.model, precision)
        q = marginals(self._ready[precision], self.inputs.forward_inputs(values))
        if not (np.isfinite(q.mean).all() and np.isfinite(q.variance).all()):
            raise DirectGPError(
                "this model predicts numbers that are not finite; fit it again, with a larger beta "
                "or a smaller learning_rate"
            )
        predictive = self.gp.likelihood.predictive(q.mean, q.variance, q.log_weights)
        if isinstance(predictive, ClassProbabilities) and self.support is not None:
            return predictive.with_further_row(self.support)
        if not self.gp.likelihood.standardise_targets:
            return predictive
        return predictive.affine(float(self.targets.scale[0]), float(self.targets.shift[0]))

    @float64
    def effective_components(self, X: Any) -> Float[np.ndarray, "N"]:
        """How many components the predictive mixture has at every row of X: 1 for one Gaussian.

        The exponential of the mutual information between a component and y: components that are
        alike, or have no weight, count as one. See `predictive.effective_components`.
        """
        q = marginals(condition(self.gp.model, "float64"), self.model_inputs(X))
        return components_at(self.gp, q)

    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Length-scales, variance of f and noise in the units of the data, by name.

        "lengthscale" has one number an input column (`names`, by default those of the frame it was
        fitted to, or numbers), "variance"
        is that of f in the units of y squared, "noise_std" in those of y. A linear kernel has
        "slope_std" and "level_std" instead, a sum or product its "parts"; Student-t noise has a
        "noise_scale" and "df", counts may have a "dispersion". Counts and classes have an f
        without units. "kernel" is None where no kernel sees the inputs themselves: in deep models
        and behind networks, which have the noise alone.

        >>> from directgp import fit
        >>> X = np.linspace(0, 1000, 40)[:, None]  # metres
        >>> fitted = fit(X, np.sin(X[:, 0] / 200), beta=1.0, max_steps=300)
        >>> found = fitted.hyperparameters(["height"])
        >>> list(found)
        ['kernel', 'variance', 'lengthscale', 'noise_std']
        >>> 100 < found["lengthscale"]["height"] < 1000
        True
        """
        columns = named_columns(self.names if names is None else names, len(self.inputs.scale))
        scale = float(self.targets.scale[0])
        units = Units(columns, self.inputs.scale, scale)
        return hyperparameters(self.gp.model, self.gp.likelihood, units, scale)

    def __repr__(self) -> str:
        return f"FittedGP: {in_short(self, self.gp.model, len(self.inputs.shift))}"

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


def in_short(fitted: Any, model: Model, num_inputs: int) -> str:
    """What was fitted and how, in one line; `model` is the one that sees the user's inputs."""
    kernel = kernel_of(model)
    sizes = sorted({q.mean.shape[-1] for q in model.posteriors})
    parts = [
        type(model).__name__ + (f" of {model.depth} layers" if model.depth > 1 else ""),
        f"{num_inputs} input{'s' if num_inputs > 1 else ''}",
        f"{' and '.join(map(str, sizes))} inducing points",
        *([] if kernel is None else [kernel_name(kernel)]),
        type(fitted.gp.likelihood).__name__,
    ]
    loss, steps = fitted.objective.loss, fitted.history.get("step") or [0]
    chosen = f" (of {len(fitted.beta_curve)} tried)" if fitted.beta_curve else ""
    words = [
        ", ".join(parts),
        f"{type(loss).__name__}({type(loss.score).__name__}), β = {fitted.beta:.4g}{chosen}",
        f"{steps[-1]} steps, {fitted.seconds:.1f} s ({fitted.reason})",
    ]
    if fitted.held_out is not None:
        words.append(f"held-out loss {np.mean(fitted.held_out):.4g}")
    return "; ".join(words)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices, and name them."""
    if value not in choices:
        raise DirectGPError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
