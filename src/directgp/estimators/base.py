"""What both estimators share: parameters to `fit`, predictions, streams, files."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from directgp.decisions import Cost, TableCost, fit_for_cost
from directgp.errors import DirectGPError
from directgp.estimators.calibrated import CalibratedEstimator
from directgp.estimators.inputs import (
    encoded,
    input_names,
    restore_encoder,
    stored_encoder,
    training_inputs,
    validated_rows,
)
from directgp.estimators.outputs import num_outputs, validated_targets
from directgp.estimators.rows import checked_weights, merged
from directgp.estimators.stream import Memory, continued, one_gp
from directgp.fitting.default_fit import fit_default
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.flat_options import (
    MODEL_OPTIONS,
    TRAINING_OPTIONS,
    model_from_options,
    training_from_options,
)
from directgp.fitting.specs import Training
from directgp.fitting.stacking import Stack
from directgp.likelihoods import Likelihood
from directgp.losses import Direct, Gibbs, Loss, losses, made_robust, scores
from directgp.persistence import DamagedModelFile, ForeignFile, load, save
from directgp.persistence.errors import one_line
from directgp.predictive import Predictive
from directgp.registry import Registry
from directgp.tables import TableEncoder, TargetValues, WeightedRows, unmasked

objectives = Registry("objective")
objectives.register("direct")(Direct)
objectives.register("elbo")(Gibbs)

_MEANS = {True: "zero", False: "constant"}


class GPEstimator(CalibratedEstimator, BaseEstimator, ABC):
    """Parameters become a call of `fit`; subclasses say what y means."""

    fitted_: FittedGP | Stack | FittedExact
    n_features_in_: int
    n_outputs_: int
    feature_names_in_: np.ndarray
    encoder_: TableEncoder
    _columns: tuple[str, ...] | None

    # Parameters of every subclass, stored by their constructors as scikit-learn asks.
    loss: Any
    objective: str
    robust: str | None
    robust_power: float | None
    beta: Any
    kernel: Any
    num_inducing: int | None
    layers: int | str
    width: int | None
    deep: str
    features: str | None
    epochs: float | None
    max_steps: int | None
    batch_size: int | None
    learning_rate: float | None
    patience: int | None
    time_budget: float | None
    warm_start: bool
    random_state: Any
    verbose: bool

    _file_kind: ClassVar[str]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    @abstractmethod
    def _likelihood(self) -> Likelihood:
        """The likelihood of the targets seen last."""

    @abstractmethod
    def _encoded(self, y: Any, *, reset: bool, classes: Any) -> np.ndarray:
        """Targets as the numbers a likelihood reads."""

    @abstractmethod
    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weights of rows after those of their classes."""

    def _loss(self) -> Loss:
        plain = self.loss
        if isinstance(plain, str) and plain in losses:
            plain = losses.create(plain)
        if not isinstance(plain, Loss):
            plain = objectives.create(self.objective, scores.resolve(plain))
        return made_robust(plain, self.robust, self.robust_power)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GPEstimator":
        """Train on rows X with targets y; a row of weight 2 counts as two rows.

        y with several columns is several outputs, learned together; NaN in it is a value that was
        not measured.

        With `warm_start` a second call goes on from the model and the scales of the first; the
        columns (and classes) must be the same.
        """
        start = getattr(self, "fitted_", None) if self.warm_start else None
        if start is not None:
            one_gp(start, "warm_start")
        rows = self._rows(X, y, sample_weight, reset=start is None)
        self._train(rows, start, stack=not self.warm_start)
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> None:
        fresh = not hasattr(self, "fitted_")
        rows = self._rows(X, y, sample_weight, reset=fresh, classes=classes, cross_fit=False)
        if fresh:
            self._train(rows, None, stack=False)
            return
        memory = getattr(self, "_memory", None)  # a file holds none of the rows it was trained on
        if isinstance(self.fitted_, Stack) and memory is not None:  # one GP takes its place
            self._train(memory.trained_on(rows), None, stack=False)
            return
        start = one_gp(self.fitted_, "partial_fit")
        together = rows if memory is None else memory.trained_on(rows)
        # Of the same seed, but not the same draws again at every call.
        seen = 0.0 if memory is None else memory.seen
        generator = np.random.default_rng([self._seed(), int(seen)])
        own_seed = int(generator.integers(2**31))
        self.fitted_ = continued(start, together, self.learning_rate, own_seed)
        self._forget_calibration()
        self._memory = (
            Memory.of(rows, generator) if memory is None else memory.extended(rows, generator)
        )

    def _rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        reset: bool,
        classes: Any = None,
        cross_fit: bool = True,
    ) -> WeightedRows:
        """Rows as they are trained on; without `cross_fit` they are new to the encoder."""
        X, y, sample_weight = unmasked(X), unmasked(y), unmasked(sample_weight)
        count = num_outputs(y)
        X, y = validated_targets(self, X, y, count, reset=reset, at_least=2 if reset else 1)
        if reset:
            self.n_outputs_ = count
        elif count != self.n_outputs_:
            raise DirectGPError(
                f"y has {count} outputs but the model was trained on {self.n_outputs_}; give the "
                "same outputs in the same order"
            )
        numbers = self._encoded(y, reset=reset, classes=classes)
        weight = checked_weights(sample_weight, len(numbers))
        weight = self._row_weights(numbers, weight)
        labels = self._class_labels() if count == 1 else None
        target = TargetValues.of(numbers, labels or (), weight)
        inputs = training_inputs(self, X, target, reset=reset, cross_fit=cross_fit)
        return merged(WeightedRows(inputs, numbers, weight))

    def _class_labels(self) -> tuple[Any, ...] | None:
        """What the user calls the classes, if y are classes."""
        return None

    def _train(self, rows: WeightedRows, start: Any, *, stack: bool) -> None:
        """Fit the rows; without `stack` one GP, which can go on learning."""
        likelihood, seed = self._likelihood(), self._seed()
        options: dict[str, Any] = {
            "beta": self.beta,
            "likelihood": likelihood,
            "training": self._training(),
            "sample_weight": rows.weight,
            "seed": seed,
            "verbose": self.verbose,
        }
        if isinstance(self.loss, Cost):
            self.fitted_ = self._for_cost(self.loss, rows, start, options)
        else:
            model = self._model_options() if start is None else start
            self.fitted_ = fit_default(
                rows.X, rows.y, loss=self._loss(), model=model, stack=stack, **options
            )
        self._forget_calibration()
        self._memory = Memory.of(rows, np.random.default_rng(seed))

    def _training(self) -> Training:
        """How to train, from the parameters of those names."""
        names = set(TRAINING_OPTIONS) & set(self._get_param_names())
        return training_from_options({name: getattr(self, name) for name in names})

    def _model_options(self) -> dict[str, Any]:
        """The parameters that describe the model; `default_model` makes a spec of them."""
        names = set(MODEL_OPTIONS) & set(self._get_param_names())
        own = {name: getattr(self, name) for name in names}
        return own | {"mean": _MEANS[self._likelihood().standardise_targets]}

    def _for_cost(
        self, cost: Cost, rows: WeightedRows, start: Any, options: dict[str, Any]
    ) -> FittedGP:
        if rows.y.ndim > 1 or self.robust is not None:
            raise DirectGPError(
                "training for a cost is for one output and has no robust form; train with "
                "loss='log' and use decide()"
            )
        labels = self._class_labels()
        if (labels is not None) != isinstance(cost, TableCost):
            kind, fits = (
                ("numbers", "newsvendor, square or interval")
                if labels is None
                else ("classes", "binary, matrix or reject")
            )
            raise DirectGPError(
                f"a {type(cost).__name__} cannot train a model of {kind}; use a {fits} cost"
            )
        if start is not None:
            model = start
        else:
            layers = 1 if self.layers == "auto" else self.layers
            model = model_from_options(self._model_options() | {"layers": layers})
        cost = cost if labels is None else cost.for_labels(labels)
        return fit_for_cost(rows.X, rows.y, cost, model=model, **options)

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def predict_distribution(self, X: Any) -> Predictive | tuple[Predictive, ...]:
        """The whole predictive distribution at every row: mean, quantiles, density, samples, …

        Of several outputs one distribution for each.
        """
        check_is_fitted(self, "fitted_")
        rows = validated_rows(self, unmasked(X), reset=False)
        return self.fitted_.predict(encoded(self, rows))

    def _predicted(self, X: Any, what: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Something of the predictive distribution: [N …], or [N T …] for T outputs."""
        found = self.predict_distribution(X)
        if isinstance(found, Predictive):
            return what(found)
        return np.stack([what(each) for each in found], axis=1)

    def _mean_log_prob(self, X: Any, y: np.ndarray, sample_weight: Any) -> float:
        """The average over rows, and over the measured values of several outputs."""
        found = self.predict_distribution(X)
        if isinstance(found, Predictive):
            return float(np.average(found.log_prob(y), weights=sample_weight))
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        total, count = 0.0, 0.0
        for each, column in zip(found, y.T, strict=True):
            known = np.isfinite(column)
            total += float(weight[known] @ each[known].log_prob(column[known]))
            count += float(weight[known].sum())
        return total / count

    def get_feature_names_in(self) -> list[str]:
        """The names of the columns seen in fit; x0, x1, … if they had none."""
        check_is_fitted(self, "fitted_")
        given = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{number}" for number in range(self.n_features_in_)]
        return [str(name) for name in given]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file (safetensors and JSON, never pickle)."""
        check_is_fitted(self, "fitted_")
        state = {
            "parameters": self.get_params(deep=False),
            "named": hasattr(self, "feature_names_in_"),
            "outputs": self.n_outputs_,
            **stored_encoder(self),
            **self._stored_calibration(),
            **self._state(),
        }
        features = dict.fromkeys(input_names(self), "number")
        save(self.fitted_, path, extras={self._file_kind: state}, features=features)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "GPEstimator":
        """Read an estimator that `save` wrote; it predicts the same to the last bit."""
        loaded = load(path)
        if cls._file_kind not in loaded.extras:
            raise ForeignFile(
                f"{path} holds no {cls.__name__}; read it with the class that saved it, "
                "or with directgp.load"
            )
        state = loaded.extras[cls._file_kind]
        try:
            made = cls(**_named_parameters(state, cls._get_param_names()))
            made.fitted_ = loaded.fitted
            restore_encoder(made, state, tuple(loaded.features))
            outputs = loaded.fitted.num_outputs
            made.n_outputs_ = state.get("outputs", 1)
            if made.n_outputs_ != outputs:
                raise DirectGPError(f"it has {outputs} outputs, but others are named")
            made._restore(state)
            made._restore_calibration(state)
        except (ValueError, TypeError, LookupError) as error:
            raise DamagedModelFile(
                f"{path} does not hold together ({one_line(error)}); save the estimator again"
            ) from None
        return made

    def _state(self) -> dict[str, Any]:
        """What a file must hold beside the parameters and the model."""
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        """The way back from `_state`; a `ValueError` if the file holds something else."""


def _named_parameters(state: Any, known: Sequence[str]) -> dict[str, Any]:
    """The parameters that a file holds, if they are those of the estimator."""
    given = state.get("parameters") if isinstance(state, dict) else None
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise DirectGPError("its parameters are not those of the estimator")
    return given
