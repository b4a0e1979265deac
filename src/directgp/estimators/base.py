"""Base class of `GPRegressor` and `GPClassifier`: fit, partial_fit, predict, save and load."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from directgp.errors import DirectGPError
from directgp.estimators.calibrated import CalibratedEstimator
from directgp.estimators.parameters import GPParameters

if TYPE_CHECKING:
    from directgp.decisions import Cost
    from directgp.fitting.any_fitted import Fitted
    from directgp.fitting.fitted import FittedGP
    from directgp.fitting.specs import Training
    from directgp.likelihoods import Likelihood
    from directgp.losses import Loss
    from directgp.predictive import JointPredictive, Predictive
    from directgp.tables import TableEncoder, WeightedRows

_MEANS = {True: "zero", False: "constant"}


class GPEstimator(CalibratedEstimator, GPParameters, ABC):
    """Builds specs from the parameters and calls `fit`; subclasses encode y."""

    fitted_: "Fitted"
    n_features_in_: int
    n_outputs_: int
    feature_names_in_: np.ndarray
    encoder_: "TableEncoder"
    _columns: tuple[str, ...] | None

    _file_kind: ClassVar[str]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    @abstractmethod
    def _likelihood(self) -> "Likelihood":
        """The likelihood for the targets of the last fit."""

    @abstractmethod
    def _encoded(self, y: Any, *, reset: bool, classes: Any) -> np.ndarray:
        """Targets encoded as the numbers that the likelihood expects."""

    @abstractmethod
    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Row weights multiplied by the weights of the classes."""

    def _loss(self) -> "Loss":
        from directgp.estimators.choices import training_loss

        return training_loss(self.loss, self.objective, self.robust, self.robust_power)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GPEstimator":
        """Fit the model to X and y.

        With `warm_start` a second call continues from the fitted model and keeps its scaling of
        inputs and targets; columns and classes must then be the same.

        Args:
            X: inputs [N D], an array or a table.
            y: targets [N], or [N T] for T outputs fitted jointly, with NaN for missing values.
            sample_weight: one weight per row; a row of weight 2 is equivalent to two equal rows.
        """
        start = getattr(self, "fitted_", None) if self.warm_start else None
        if start is not None:
            from directgp.estimators.stream import one_gp

            one_gp(start, "warm_start")
        rows = self._rows(X, y, sample_weight, reset=start is None)
        self._train(rows, start, stack=not self.warm_start)
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> None:
        from directgp.estimators.stream import Memory, continued, one_gp
        from directgp.fitting.stacking import Stack

        fresh = not hasattr(self, "fitted_")
        rows = self._rows(X, y, sample_weight, reset=fresh, classes=classes, cross_fit=False)
        if fresh:
            self._train(rows, None, stack=False)
            return
        memory = getattr(self, "_memory", None)  # None after `load`: a file stores no rows
        if isinstance(self.fitted_, Stack) and memory is not None:  # replaced by a single GP
            self._train(memory.trained_on(rows), None, stack=False)
            return
        start = one_gp(self.fitted_, "partial_fit")
        together = rows if memory is None else memory.trained_on(rows)
        # Derived from the seed, but different in every call.
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
    ) -> "WeightedRows":
        """Validated, encoded and weighted rows; `cross_fit` target-encodes them out of fold."""
        from directgp.estimators.inputs import training_inputs
        from directgp.estimators.outputs import num_outputs, validated_targets
        from directgp.estimators.rows import checked_weights, merged
        from directgp.tables import TargetValues, WeightedRows, unmasked

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
        """The class labels as given in y, or None for regression."""
        return None

    def _train(self, rows: "WeightedRows", start: Any, *, stack: bool) -> None:
        """Fit the rows: the default stack if `stack`, else one GP that can be trained further."""
        from directgp.decisions import Cost
        from directgp.estimators.stream import Memory
        from directgp.fitting.default_fit import fit_default

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
            options |= self._fit_options()
            self.fitted_ = fit_default(
                rows.X, rows.y, loss=self._loss(), model=model, stack=stack, **options
            )
        self._forget_calibration()
        self._memory = Memory.of(rows, np.random.default_rng(seed))

    def _training(self) -> "Training":
        """The `Training` spec made of the parameters."""
        from directgp.fitting.flat_options import TRAINING_OPTIONS, training_from_options

        names = set(TRAINING_OPTIONS) & set(self.parameter_names())
        return training_from_options({name: getattr(self, name) for name in names})

    def _fit_options(self) -> dict[str, Any]:
        """Divergence, expectation and hyperparameters, where they are not the defaults."""
        from directgp.fitting.flat_options import FIT_OPTIONS, given_fit_options

        return given_fit_options({name: getattr(self, name) for name in FIT_OPTIONS})

    def _model_options(self) -> dict[str, Any]:
        """The parameters from which `default_model` builds the model spec."""
        from directgp.fitting.flat_options import MODEL_OPTIONS

        names = set(MODEL_OPTIONS) & set(self.parameter_names())
        own = {name: getattr(self, name) for name in names}
        if own.get("inference") is not None:
            return own
        return own | {"mean": _MEANS[self._likelihood().standardise_targets]}

    def _for_cost(
        self, cost: "Cost", rows: "WeightedRows", start: Any, options: dict[str, Any]
    ) -> "Fitted":
        from directgp.decisions import fit_for_cost
        from directgp.estimators.costs import check_trainable
        from directgp.fitting.flat_options import model_from_options

        labels = self._class_labels()
        check_trainable(cost, labels, one_output=rows.y.ndim == 1, robust=self.robust)
        if start is not None:
            model = start
        else:
            layers = 1 if self.layers == "auto" else self.layers
            model = model_from_options(self._model_options() | {"layers": layers})
        cost = cost if labels is None else cost.for_labels(labels)
        options |= self._fit_options()
        return fit_for_cost(rows.X, rows.y, cost, model=model, **options)

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def predict_distribution(self, X: Any) -> "Predictive | tuple[Predictive, ...]":
        """The predictive distribution of every row: mean, quantiles, log density, samples, …

        For several outputs, a tuple with one distribution per output.
        """
        inputs = self._inputs(X)  # says so where nothing has been fitted
        return self.fitted_.predict(inputs)

    def predict_joint(self, X: Any) -> "JointPredictive":
        """All outputs of every row together: covariances, joint log density, correlated draws.

        For y with several columns; its `marginals` are what `predict_distribution` gives.
        """
        inputs, fitted = self._inputs(X), self.fitted_
        if self.n_outputs_ == 1:
            raise DirectGPError("predict_joint is for several outputs; use predict_distribution")
        return cast("FittedGP", fitted).predict_joint(inputs)

    def _inputs(self, X: Any) -> np.ndarray:
        """New rows as the numbers that the model was trained on."""
        check_is_fitted(self, "fitted_")
        from directgp.estimators.inputs import encoded, validated_rows
        from directgp.tables import unmasked

        return encoded(self, validated_rows(self, unmasked(X), reset=False))

    def _predicted(self, X: Any, what: Callable[[Any], np.ndarray]) -> np.ndarray:
        """`what` of the predictive distribution: [N …], or [N T …] for T outputs."""
        found = self.predict_distribution(X)
        if isinstance(found, tuple):
            return np.stack([what(each) for each in found], axis=1)
        return what(found)

    def _mean_log_prob(self, X: Any, y: np.ndarray, sample_weight: Any) -> float:
        """Mean log density over rows and, for several outputs, over the observed values."""
        found = self.predict_distribution(X)
        if not isinstance(found, tuple):
            return float(np.average(found.log_prob(y), weights=sample_weight))
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        total, count = 0.0, 0.0
        for each, column in zip(found, y.T, strict=True):
            known = np.isfinite(column)
            total += float(weight[known] @ each[known].log_prob(column[known]))
            count += float(weight[known].sum())
        return total / count

    def get_feature_names_in(self) -> list[str]:
        """Names of the columns seen in `fit`, or x0, x1, … if they had none."""
        check_is_fitted(self, "fitted_")
        given = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{number}" for number in range(self.n_features_in_)]
        return [str(name) for name in given]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file (safetensors and JSON; no pickle)."""
        check_is_fitted(self, "fitted_")
        from directgp.estimators.inputs import input_names, stored_encoder
        from directgp.persistence import save

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
        """Read an estimator written by `save`; its predictions are bitwise the same."""
        from directgp.estimators.inputs import restore_encoder
        from directgp.estimators.rows import named_parameters
        from directgp.persistence import DamagedModelFile, ForeignFile, load
        from directgp.persistence.errors import one_line

        loaded = load(path)
        if cls._file_kind not in loaded.extras:
            raise ForeignFile(
                f"{path} holds no {cls.__name__}; read it with the class that saved it, "
                "or with directgp.load"
            )
        state = loaded.extras[cls._file_kind]
        try:
            made = cls(**named_parameters(state, cls.parameter_names()))
            made.fitted_ = loaded.fitted
            restore_encoder(made, state, tuple(loaded.features))
            outputs = loaded.fitted.num_outputs
            made.n_outputs_ = state.get("outputs", 1)
            if made.n_outputs_ != outputs:
                raise DirectGPError(
                    f"the model has {outputs} outputs, its state {made.n_outputs_!r:.20}"
                )
            made._restore(state)
            made._restore_calibration(state)
        except (ValueError, TypeError, LookupError) as error:
            raise DamagedModelFile(
                f"{path} is inconsistent ({one_line(error)}); save the estimator again"
            ) from None
        return made

    def _state(self) -> dict[str, Any]:
        """The state to be saved besides the parameters and the model."""
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        """Inverse of `_state`; raises a `ValueError` if the state does not fit the model."""
