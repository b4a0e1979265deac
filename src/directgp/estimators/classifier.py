"""`GPClassifier`: two classes or more."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from directgp.errors import DirectGPError
from directgp.estimators.base import GPEstimator

if TYPE_CHECKING:
    from directgp.decisions import Decision
    from directgp.likelihoods import Likelihood
    from directgp.predictive import ClassProbabilities


@dataclass(eq=False, repr=False)
class GPClassifier(ClassifierMixin, GPEstimator):
    """Gaussian-process classification, trained for the loss by which predictions are evaluated.

    With default parameters it is a stack: a mixture of logistic regression, an exact GP, boosted
    trees and, for many rows, a sparse GP. Weights minimise the loss of out-of-fold predictions
    (`fitted_` is a `FittedClassStack`). A parameter of a single GP (`layers=1`, `kernel`, `beta`,
    `max_steps`, …), `warm_start` or `partial_fit` select one sparse GP instead: with a `link` for
    two classes, with a softmax of one latent function per class for more.

    y [N T] of zeros and ones is T labels per row, fitted jointly; NaN is an unknown label.

    Args:
        link: "probit" or "logit", for two classes.
        loss: "log", "crps" (for two classes the Brier score), or a cost such as
            `BinaryCost(1, 20)` to train for (`decisions.fit_for_cost`).
        layers: of a single GP; "auto" is the stack, or one if another parameter selects a GP.
        inference: for two classes and up to about 2000 rows, the posterior by "laplace", "ep" or
            "loss-ep" (loss-calibrated EP) instead of gradient steps; with `loss=cost` also
            "loss-em", "linearised-loss-em" or "ep-loss-em" (`decisions.fit_exact_for_cost`).
            `max_steps` then limits the L-BFGS steps for the kernel.
        cost_bound: the constant M of the loss-EM algorithms, by default the largest cost.
        class_weight: None, "balanced", or a dict of weights by label.

    All other parameters (`objective`, `beta`, `divergence`, `kernel`, `epochs`, …) are those of
    `GPRegressor`.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> labels = np.where(X[:, 0] > 0, "high", "low")
    >>> model = GPClassifier(beta=1.0, max_steps=200).fit(X, labels)
    >>> model.predict([[-0.5], [0.5]]).tolist()
    ['low', 'high']
    """

    _file_kind: ClassVar[str] = "GPClassifier"

    link: Literal["probit", "logit"] = "probit"
    _: KW_ONLY
    inference: str | None = None
    cost_bound: float | None = None
    class_weight: Any = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_test: Any = None,
        test_weight: Any = None,
    ) -> "GPClassifier":
        """Fit the model to X and y.

        Args:
            X: inputs [N D], an array or a table.
            y: labels [N], or zeros and ones [N T] for T labels per row, NaN if unknown.
            sample_weight: one weight per row; a row of weight 2 is equivalent to two equal rows.
            X_test: the rows that decisions will be made for, if `inference` is a loss-EM; by
                default the training rows.
            test_weight: how often each of these rows occurs. On training rows, the density ratio
                p_test/p_train accounts for covariate shift.
        """
        if self.inference is None:
            if X_test is not None or test_weight is not None or self.cost_bound is not None:
                raise DirectGPError(
                    "X_test, test_weight and cost_bound are for a loss-EM; give e.g. "
                    "inference='loss-em' too, or leave them out"
                )
            super().fit(X, y, sample_weight)
            return self
        from directgp.estimators.exact_inference import fit_inference

        rows = self._rows(X, y, sample_weight, reset=True)
        self.fitted_ = fit_inference(self, rows, X, X_test, test_weight)
        return self

    def decide(
        self,
        X: Any,
        cost: Any = None,
        groups: Any = None,
        *,
        transductive: bool = False,
        test_weight: Any = None,
    ) -> "Decision":
        """The action with the least expected cost for every row; see `decisions.decide`.

        Args:
            X: inputs [N D].
            cost: the cost; by default the one the estimator was trained for (`loss=cost`).
            groups: the group of each row, if `calibrate` was given groups.
            transductive: run the loss-EM of `inference` again for these rows, which optimises
                its posterior and the decisions at these rows jointly.
            test_weight: how often each of these rows occurs; needs `transductive`.
        """
        if not transductive:
            if test_weight is not None:
                raise DirectGPError("test_weight has no effect without transductive=True")
            return super().decide(X, cost, groups)
        check_is_fitted(self, "fitted_")
        from directgp.decisions import Cost
        from directgp.estimators.exact_inference import decide_inference

        if cost is None and not isinstance(self.loss, Cost):
            raise DirectGPError("no cost given; pass one, e.g. decide(X, BinaryCost(1, 20))")
        return decide_inference(self, X, self.loss if cost is None else cost, test_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "GPClassifier":
        """Update the model with a batch of a stream; see `GPRegressor.partial_fit`.

        Args:
            X: inputs of the new rows.
            y: their labels; the first call needs rows of at least two classes.
            classes: all labels that can occur; needed in the first call if y lacks some.
            sample_weight: one weight per row.
        """
        if self.inference is not None:
            raise DirectGPError(
                f"inference={self.inference!r} needs all rows at once; use fit(), or leave out "
                "inference"
            )
        self._partial_fit(X, y, sample_weight, classes)
        return self

    def predict_proba(self, X: Any) -> Float[np.ndarray, "N K"] | list[np.ndarray]:
        """Class probabilities [N K], in the order of `classes_`.

        For several labels per row, a list with one such array per label, as scikit-learn does.
        """
        return self._by_label(X, lambda found: found.probabilities)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "N K"] | list[np.ndarray]:
        """The logarithm of `predict_proba`, accurate for tiny probabilities."""
        return self._by_label(X, lambda found: found.log_probabilities)

    def _by_label(self, X: Any, what: "Callable[[ClassProbabilities], np.ndarray]") -> Any:
        tables = self._predicted(X, what)
        return tables if self.n_outputs_ == 1 else list(np.moveaxis(tables, 1, 0))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row, [N], or [N T] for several labels."""
        number = self._predicted(X, lambda found: np.argmax(found.log_probabilities, axis=1))
        return self.classes_[number] if self.n_outputs_ == 1 else number

    def predict_set(self, X: Any, coverage: float = 0.9, groups: Any = None) -> np.ndarray:
        """Prediction sets that contain the true class with this probability.

        After `calibrate`, coverage is guaranteed for finite samples; sets hold all classes if the
        calibration rows are too few. Otherwise a set holds the fewest classes whose predicted
        probabilities sum to the coverage.

        Args:
            X: inputs [N D].
            coverage: the probability, e.g. 0.9.
            groups: the group of each row, if `calibrate` was given groups.

        Returns:
            Whether each class is in the set, [N K] in the order of `classes_`.
        """
        predictive, calibration, own = self._sets(X, coverage, groups)
        if calibration is None:
            from directgp.calibration.conformity import fewest_classes

            return fewest_classes(predictive, coverage)
        return calibration.classes(predictive, coverage, own)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log probability of the true class; higher is better, at most 0.

        For the accuracy use `sklearn.metrics.accuracy_score(y, model.predict(X))`.

        Args:
            X: inputs [N D].
            y: labels, [N] or [N T].
            sample_weight: one weight per row.
        """
        check_is_fitted(self, "fitted_")
        from directgp.tables import unmasked

        y = unmasked(y)
        targets = np.asarray(y, np.float64) if self.n_outputs_ > 1 else None
        numbers = self._numbers(column_or_1d(y)) if targets is None else targets
        return self._mean_log_prob(X, numbers, sample_weight)

    def _likelihood(self) -> "Likelihood":
        from directgp.likelihoods import Categorical

        binary, count = self._binary(), len(self.classes_)
        return binary if count == 2 or self.n_outputs_ > 1 else Categorical(count)

    def _class_labels(self) -> tuple[Any, ...]:
        return tuple(self.classes_.tolist())

    def _binary(self) -> "Likelihood":
        from directgp.estimators.choices import links

        return links.create(self.link)

    def _encoded(self, y: Any, *, reset: bool, classes: Any) -> np.ndarray:
        if self.n_outputs_ > 1:
            return self._labels(y)
        from directgp.fitting.checks import plain_number
        from directgp.fitting.stacking.sklearn_warnings import without_sklearn_warnings

        # Without scikit-learn's warnings about many classes, or large ones that are not integers.
        with without_sklearn_warnings(), np.errstate(invalid="ignore"):
            check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if reset:
            self.classes_ = np.unique(labels if classes is None else classes)
        if reset and len(self.classes_) < 2:
            raise DirectGPError(
                f"GPClassifier needs rows of at least two classes, got one class: "
                f"{plain_number(self.classes_[0])!r}"
            )
        return self._numbers(labels)

    def _targets(self, y: Any) -> np.ndarray:
        return self._numbers(column_or_1d(y))

    def _labels(self, y: np.ndarray) -> np.ndarray:
        """Several binary labels per row: 1, 0 or NaN (unknown)."""
        from directgp.estimators.rows import check_labels

        check_labels(y)
        self.classes_ = [np.array([0, 1])] * y.shape[1]
        return y

    def _numbers(self, labels: np.ndarray) -> np.ndarray:
        """Class numbers of labels; an error names the first unknown label."""
        numbers = np.searchsorted(self.classes_, labels)
        numbers = np.minimum(numbers, len(self.classes_) - 1)
        unknown = self.classes_[numbers] != labels
        if unknown.any():
            from directgp.fitting.checks import plain_number

            raise DirectGPError(
                f"y has the label {plain_number(labels[np.argmax(unknown)])!r}, which is not among "
                f"the classes {self.classes_.tolist()}; give all classes in the first fit"
            )
        return numbers.astype(np.float64)

    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        from directgp.estimators.rows import weighed_by_class

        return weighed_by_class(y, weight, self.class_weight, self.classes_)

    def _state(self) -> dict[str, Any]:
        return {"classes": self.classes_}

    def _restore(self, state: dict[str, Any]) -> None:
        stored: Any = state["classes"]
        outcomes = self.fitted_.likelihood.outcomes
        each: list[Any] = stored if isinstance(stored, list) else [stored]
        sound = (
            outcomes is not None
            and isinstance(stored, list) == (self.n_outputs_ > 1)
            and len(each) == self.n_outputs_
            and all(isinstance(own, np.ndarray) for own in each)
            and all(own.shape == outcomes.shape for own in each)
        )
        if not sound:
            raise DirectGPError("its classes do not belong to the model")
        self.classes_ = state["classes"]
