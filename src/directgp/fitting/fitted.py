"""`FittedGP`: one trained GP in the user's units, what `fit` and its variants return."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.checks import check_choice
from directgp.fitting.finite_predictions import NOT_FINITE, check_rates, with_finite_variance
from directgp.fitting.hyperparameters import hyperparameters, named_columns
from directgp.fitting.mixture_check import components_at
from directgp.kernels import Units
from directgp.likelihoods import Likelihood, vector_of
from directgp.models import Conditioned, Model, MultiOutput
from directgp.models.multi_output import ConditionedMultiOutput
from directgp.objective import Objective
from directgp.parameters import float64, on_device
from directgp.predictive import (
    ClassProbabilities,
    CountMixture,
    JointMixture,
    JointPredictive,
    Predictive,
)
from directgp.tables import Standardiser, check_inputs, check_names
from directgp.training.evaluate import PredictedMarginals, condition, marginals
from directgp.training.loop import GP, History


class Donor(NamedTuple):
    """Model, likelihood and scaling that another fit starts from or holds fixed."""

    gp: GP
    inputs: Standardiser
    targets: Standardiser


class LongTable(NamedTuple):
    """Scaling of the long table that several outputs are fitted to: (x, output number), y.

    y is standardised per output first, then jointly.
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

    `repr` is a one-line summary; `hyperparameters()` returns the learned hyperparameters.
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
    """The loss of every held-out row a value (standardised units), if rows were held out."""
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
    def output_scales(self) -> Standardiser:
        """From the units of each output to those that the model sees.

        Outputs are standardised one by one; models of earlier versions then all together.
        """
        if self.long_table is None:
            return self.targets
        shift, scale = self.long_table.targets
        return Standardiser(
            self.targets.shift + self.targets.scale * shift, self.targets.scale * scale
        )

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
        if self.long_table is not None:
            return cast(
                P, tuple(map(with_finite_variance, self._joint(values, precision).marginals))
            )
        q = self._finite(
            marginals(self._conditioned(precision), self.inputs.forward_inputs(values))
        )
        predictive = self._bounded(self.likelihood.predictive(*q))
        if not self.likelihood.standardise_targets:
            return cast(P, predictive)
        scale, shift = float(self.targets.scale[0]), float(self.targets.shift[0])
        return cast(P, with_finite_variance(predictive.affine(scale, shift)))

    @float64
    def predict_joint(
        self, X: Any, *, precision: Literal["float64", "mixed"] = "float64"
    ) -> JointPredictive:
        """How the outputs of every row of X vary together, of a model of several outputs.

        Args:
            X: rows with the columns of the training rows.
            precision: as for `predict`.

        Returns:
            Mean [N T], covariance [N T T], joint log density, correlated draws; its `marginals`
            are what `predict` returns.
        """
        check_choice("precision", precision, ("float64", "mixed"))
        check_names(X, self.names)
        if self.long_table is None:
            raise DirectGPError(
                "predict_joint is for several outputs, and this model has one; use predict, or "
                "fit_outputs(X, Y) with a column for each output"
            )
        return self._joint(check_inputs(X, num_columns=len(self.inputs.shift)), precision)

    def _joint(self, values: Float[np.ndarray, "N D"], precision: str) -> JointPredictive:
        """The latent functions once a row; outputs are a linear map of them."""
        conditioned = self._conditioned(precision)
        assert isinstance(conditioned, ConditionedMultiOutput)
        q = self._finite(marginals(conditioned.base, self.inputs.forward_inputs(values)))
        every = jnp.ones((1, self.num_outputs), bool)
        joint = vector_of(self.likelihood, conditioned.mixing, every).predictive(*q)
        if isinstance(joint, JointMixture):
            joint = joint.changed(lambda _, own: self._bounded(own))
        if not self.likelihood.standardise_targets:
            return joint
        return joint.affine(self.output_scales.scale, self.output_scales.shift)

    def _conditioned(self, precision: str) -> Conditioned:
        if precision not in self._ready:
            self._ready[precision] = condition(self.gp.model, precision)
        return self._ready[precision]

    def _finite(self, q: PredictedMarginals) -> PredictedMarginals:
        if not (np.isfinite(q.mean).all() and np.isfinite(q.variance).all()):
            raise DirectGPError(NOT_FINITE)
        return q

    def _bounded(self, predictive: Predictive) -> Predictive:
        """Class probabilities no surer than the rows can support; others as they are."""
        if isinstance(predictive, CountMixture):
            check_rates(predictive)
        if isinstance(predictive, ClassProbabilities) and self.support is not None:
            return predictive.with_further_row(self.support)
        return predictive

    @property
    def _model_scales(self) -> Standardiser:
        """The scales of the model's own inputs: with several outputs, of their number too."""
        if self.long_table is None:
            return self.inputs
        pairs = zip(self.inputs, self.long_table.number, strict=True)
        return Standardiser(*(np.concatenate(pair) for pair in pairs))

    def model_inputs(self, X: Any, output: int = 0) -> Float[np.ndarray, "N D"]:
        """The inputs of the model: standardised, with the number of the output.

        Args:
            X: rows in the units of the user.
            output: its number, of several outputs.
        """
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
            scale = self.output_scales.scale
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
        """For pickle: arrays as NumPy arrays, which keep float64."""
        state = {item.name: getattr(self, item.name) for item in fields(self)}
        state["gp"], state["objective"] = jax.tree.map(
            lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf,
            (self.gp, self.objective),
        )
        return state | {"_ready": {}}

    @float64
    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore in float64, independent of JAX's setting."""
        gp, objective = jax.tree.map(
            lambda leaf: on_device(leaf) if isinstance(leaf, np.ndarray) else leaf,
            (state["gp"], state["objective"]),
        )
        for name, value in (state | {"gp": gp, "objective": objective}).items():
            object.__setattr__(self, name, value)

    def with_history(self, history: History) -> "FittedGP[P]":
        """A copy with another training history."""
        return replace(self, history=history)

    def lend(self) -> Donor:
        """Model, likelihood and scaling, for another fit to continue from or to hold fixed."""
        alone = self.as_long_table()
        return Donor(self.gp, alone.inputs, alone.targets)

    def as_long_table(self) -> "FittedGP[Predictive]":
        """The same model as a single-output model of the long table it was fitted to."""
        if self.long_table is None:
            return cast(FittedGP[Predictive], self)
        scales, targets = self._model_scales, self.long_table.targets
        return cast(
            FittedGP[Predictive], replace(self, inputs=scales, targets=targets, long_table=None)
        )


def one_line_summary(fitted: Any, model: Model, num_inputs: int) -> str:
    """Model, loss, β and training in one line.

    Args:
        fitted: the fit.
        model: its part whose inputs are those of the user.
        num_inputs: their number.
    """
    kernel = model.input_kernel
    sizes = sorted({q.mean.shape[-1] for q in model.posteriors})
    parts = [
        type(model).__name__ + (f" of {model.depth} layers" if model.depth > 1 else ""),
        f"{num_inputs} input{'s' if num_inputs > 1 else ''}",
        f"{' and '.join(map(str, sizes))} inducing points",
        *([] if kernel is None else [kernel.label]),
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


def with_number(X: Float[np.ndarray, "N D"], number: int) -> Float[np.ndarray, "N D1"]:
    """The rows with the number of an output as last column.

    Args:
        X: rows.
        number: of the output.
    """
    return np.concatenate([X, np.full((len(X), 1), float(number))], axis=1)
