"""`FittedGP`: a trained model in the user's units, what every fit returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.checks import check_choice
from directgp.fitting.hyperparameters import (
    Units,
    hyperparameters,
    kernel_name,
    kernel_of,
    named_columns,
)
from directgp.fitting.mixture_check import components_at
from directgp.likelihoods import Likelihood
from directgp.models import Conditioned, Model, MultiOutput
from directgp.objective import Objective
from directgp.parameters import float64
from directgp.predictive import ClassProbabilities, Predictive
from directgp.tables import Standardiser, check_inputs, check_names
from directgp.training.evaluate import condition, marginals
from directgp.training.loop import GP, History


class Donor(NamedTuple):
    """Model, likelihood and scales that another fit starts from or holds fixed."""

    gp: GP
    inputs: Standardiser
    targets: Standardiser


class LongTable(NamedTuple):
    """Scales of the long table that several outputs are learned from: (x, output's number), y.

    Its y are standardised output by output before they are standardised together.
    """

    number: Standardiser
    """Of the column with the number of a row's output."""
    targets: Standardiser
    """Of its y."""


P = TypeVar("P", bound=Predictive | tuple[Predictive, ...])
"""What is predicted: one distribution a row, or a tuple with one for each output."""


@dataclass(frozen=True, eq=False)
class FittedGP(Generic[P]):
    """A trained model of one output or several, in the units of the user's data.

    Printed it says in a line what it is; `hyperparameters()` are the numbers it has learned.
    """

    gp: GP
    inputs: Standardiser
    """The scales of the input columns."""
    targets: Standardiser
    """The scale of each output."""
    objective: Objective
    beta: float
    beta_curve: dict[float, float]
    history: History
    reason: str
    seconds: float
    held_out: Float[np.ndarray, "V"] | None = field(default=None, repr=False)
    """The loss of every held-out value (standardised units), if rows were held out."""
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""
    support: float | None = None
    """The number of rows n that the model is learned from (their total weight, if that is more).

    Class probabilities are no surer than n rows can support: (n p + 1/K)/(n + 1), the rule of
    succession. None, as in files of earlier versions, leaves them as the model has them.
    """
    long_table: LongTable | None = None
    """Where several outputs are modelled: how they were put into one table."""

    _ready: dict[str, Conditioned] = field(default_factory=dict, repr=False, compare=False)

    @property
    def num_outputs(self) -> int:
        """How many outputs are predicted."""
        return 1 if self.long_table is None else len(self.targets.shift)

    @property
    def likelihood(self) -> Likelihood:
        """p(y | f)."""
        return self.gp.likelihood

    @float64
    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> P:
        """The predictive distribution of y at every row of X, independent of the other rows.

        Args:
            X: rows with the columns of the training rows. Inputs more than 1000 deviations from
                those count as 1000 deviations away, for a linear kernel too.
            precision: "mixed" is faster for very many rows and good to about 4 digits.

        Returns:
            A `Predictive`; of a model of several outputs a tuple with one for each.
        """
        check_choice("precision", precision, ("float64", "mixed"))
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        if self.long_table is None:
            return cast(P, self._predicted(values, self.targets, precision))
        # One table for all outputs: blocks of fixed size would be mostly padding for each alone.
        long = numbered(values, self.num_outputs)
        whole, count = self._predicted(long, self.long_table.targets, precision), len(values)
        parts = tuple(whole[k * count : (k + 1) * count] for k in range(self.num_outputs))
        if self.gp.likelihood.standardise_targets:
            scales = zip(self.targets.scale, self.targets.shift, strict=True)
            parts = tuple(
                part.affine(float(scale), float(shift))
                for part, (scale, shift) in zip(parts, scales, strict=True)
            )
        return cast(P, parts)

    def _predicted(
        self, values: Float[np.ndarray, "N D"], targets: Standardiser, precision: str
    ) -> Predictive:
        """At rows of the model's own table, in the units that `targets` standardised."""
        if precision not in self._ready:
            self._ready[precision] = condition(self.gp.model, precision)
        q = marginals(self._ready[precision], self._model_scales.forward_inputs(values))
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
        return predictive.affine(float(targets.scale[0]), float(targets.shift[0]))

    @property
    def _model_scales(self) -> Standardiser:
        """The scales of the model's own inputs: with several outputs, of their number too."""
        if self.long_table is None:
            return self.inputs
        pairs = zip(self.inputs, self.long_table.number, strict=True)
        return Standardiser(*(np.concatenate(pair) for pair in pairs))

    def model_inputs(self, X: Any, output: int = 0) -> Float[np.ndarray, "N D"]:
        """The rows as the model itself sees them: standardised, with the number of the output."""
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        if self.long_table is not None:
            values = with_number(values, output)
        return self._model_scales.forward_inputs(values)

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
        fitted to, or numbers), "variance" is that of f in the units of y squared, "noise_std" in
        those of y. A linear kernel has "slope_std" and "level_std" instead, a sum or product its
        "parts"; Student-t noise has a "noise_scale" and "df", counts may have a "dispersion".
        Counts and classes have an f without units. "kernel" is None where no kernel sees the
        inputs themselves: in deep models and behind networks, which have the noise alone.

        Of several outputs the kernel is that of the latent functions they mix, its variance that
        of standardised outputs, and "noise_std" a list with one for each.

        >>> from directgp import Training, fit
        >>> X = np.linspace(0, 1000, 40)[:, None]  # metres
        >>> quick = Training(max_steps=300)
        >>> fitted = fit(X, np.sin(X[:, 0] / 200), beta=1.0, training=quick)
        >>> found = fitted.hyperparameters(["height"])
        >>> list(found)
        ['kernel', 'variance', 'lengthscale', 'noise_std']
        >>> 100 < found["lengthscale"]["height"] < 1000
        True
        """
        columns = named_columns(self.names if names is None else names, len(self.inputs.scale))
        scale: Any = float(self.targets.scale[0])
        units = Units(columns, self.inputs.scale, scale)
        if self.long_table is not None:
            units = units._replace(target=1.0)
            scale = self.targets.scale * float(self.long_table.targets.scale[0])
        return hyperparameters(self._inner_model, self.gp.likelihood, units, scale)

    @property
    def _inner_model(self) -> Model:
        """The model whose inputs are the user's own columns."""
        model = self.gp.model
        return model.base if isinstance(model, MultiOutput) else model

    def __repr__(self) -> str:
        outputs = f"{self.num_outputs} outputs of " if self.num_outputs > 1 else ""
        summary = one_line_summary(self, self._inner_model, len(self.inputs.shift))
        return f"FittedGP: {outputs}{summary}"

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

    def with_history(self, history: History) -> "FittedGP[P]":
        """The same model with another record of its training."""
        return replace(self, history=history)

    def lend(self) -> Donor:
        """Model, likelihood and scales, for another fit to go on from or to hold fixed."""
        alone = self.as_long_table()
        return Donor(self.gp, alone.inputs, alone.targets)

    def as_long_table(self) -> "FittedGP[Predictive]":
        """The same model as one of a single output: of the long table that it was learned from."""
        if self.long_table is None:
            return cast(FittedGP[Predictive], self)
        scales, targets = self._model_scales, self.long_table.targets
        return cast(
            FittedGP[Predictive], replace(self, inputs=scales, targets=targets, long_table=None)
        )


def one_line_summary(fitted: Any, model: Model, num_inputs: int) -> str:
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


def numbered(X: Float[np.ndarray, "N D"], outputs: int) -> Float[np.ndarray, "L D1"]:
    """The inputs of a long table: all rows for the first output, then all for the second, …"""
    return np.concatenate([with_number(X, number) for number in range(outputs)])


def with_number(X: Float[np.ndarray, "N D"], number: int) -> Float[np.ndarray, "N D1"]:
    """The rows with a last column that says which output they are of."""
    return np.concatenate([X, np.full((len(X), 1), float(number))], axis=1)
