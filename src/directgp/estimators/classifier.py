"""`GPClassifier`: two classes or more."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, no_type_check

import numpy as np
from jaxtyping import Float
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from directgp.decisions import Cost
from directgp.errors import DirectGPError
from directgp.estimators.base import GPEstimator
from directgp.kernels import Kernel
from directgp.likelihoods import BernoulliLogit, BernoulliProbit, Categorical, Likelihood
from directgp.losses import Loss, Score
from directgp.predictive import ClassProbabilities
from directgp.registry import Registry
from directgp.tables import unmasked

links = Registry("link")
links.register("probit")(BernoulliProbit)
links.register("logit")(BernoulliLogit)


class GPClassifier(ClassifierMixin, GPEstimator):
    """Gaussian-process classification, trained for the loss its predictions are judged by.

    With every option at its default, tables of up to 3,000 rows get a mixture of logistic
    regression, an exact GP and boosted trees, weighed for the loss by rows that they had not seen
    (`fitted_` is a `FittedClassStack`). An option that speaks of one GP (`layers=1`, `kernel`,
    `beta`, `max_steps`, …), `warm_start` and `partial_fit` give one sparse GP: two classes use the
    `link` "probit" or "logit"; more have one latent function each and the softmax.

    `class_weight` is None, "balanced" or a dict of label to weight. `loss` is "log" or "crps" (the
    Brier score of two classes), or a cost such as `BinaryCost(1, 20)`, for which it is then trained
    (`decisions.fit_for_cost`). A GP has one layer unless `layers` says more. The other parameters
    are those of `GPRegressor`.

    y [N T] of zeros and ones is T labels a row, learned together; NaN is a label that is not known.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> labels = np.where(X[:, 0] > 0, "high", "low")
    >>> model = GPClassifier(beta=1.0, max_steps=200).fit(X, labels)
    >>> model.predict([[-0.5], [0.5]]).tolist()
    ['low', 'high']
    """

    _file_kind: ClassVar[str] = "GPClassifier"

    @no_type_check  # scikit-learn asks that anything may be stored; `fit` says what is wrong
    def __init__(
        self,
        link: Literal["probit", "logit"] = "probit",
        loss: str | Score | Loss | Cost = "log",
        objective: Literal["direct", "elbo"] = "direct",
        robust: Literal["beta", "gamma"] | None = None,
        robust_power: float | None = None,
        beta: float | Literal["auto"] = "auto",
        num_inducing: int | None = None,
        kernel: str | Kernel = "matern52",
        layers: int | Literal["auto"] = "auto",
        width: int | None = None,
        deep: Literal["sigma-points", "samples"] = "sigma-points",
        features: Literal["mlp"] | None = None,
        class_weight: Any = None,
        epochs: float | None = None,
        max_steps: int | None = None,
        batch_size: int | None = 1000,
        learning_rate: float | None = None,
        patience: int | None = None,
        time_budget: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.link = link
        self.loss = loss
        self.objective = objective
        self.robust = robust
        self.robust_power = robust_power
        self.beta = beta
        self.num_inducing = num_inducing
        self.kernel = kernel
        self.layers = layers
        self.width = width
        self.deep = deep
        self.features = features
        self.class_weight = class_weight
        self.epochs = epochs
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.patience = patience
        self.time_budget = time_budget
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "GPClassifier":
        """Learn from some more rows of a stream; see `GPRegressor.partial_fit`.

        `classes` are all labels that will ever occur, needed in the first call if it lacks some;
        rows of two classes at least must be in it.
        """
        self._partial_fit(X, y, sample_weight, classes)
        return self

    def predict_proba(self, X: Any) -> Float[np.ndarray, "N K"] | list[np.ndarray]:
        """The probability of every class, in the order of `classes_`.

        Of several labels a list with one such table for each, as in scikit-learn's forests.
        """
        return self._by_label(X, lambda found: found.probabilities)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "N K"] | list[np.ndarray]:
        """The logarithm of `predict_proba`, exact for rare classes."""
        return self._by_label(X, lambda found: found.log_probabilities)

    def _by_label(self, X: Any, what: Callable[[ClassProbabilities], np.ndarray]) -> Any:
        tables = self._predicted(X, what)
        return tables if self.n_outputs_ == 1 else list(np.moveaxis(tables, 1, 0))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row, [N], or [N T] for several labels."""
        number = self._predicted(X, lambda found: np.argmax(found.log_probabilities, axis=1))
        return self.classes_[number] if self.n_outputs_ == 1 else number

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log probability given to the right class: higher is better, 0 is certainty.

        It is not the accuracy; for that use `sklearn.metrics.accuracy_score(y, model.predict(X))`.
        """
        check_is_fitted(self, "fitted_")
        y = unmasked(y)
        targets = np.asarray(y, np.float64) if self.n_outputs_ > 1 else None
        numbers = self._numbers(column_or_1d(y)) if targets is None else targets
        return self._mean_log_prob(X, numbers, sample_weight)

    def _likelihood(self) -> Likelihood:
        binary, count = self._binary(), len(self.classes_)
        return binary if count == 2 or self.n_outputs_ > 1 else Categorical(count)

    def _class_labels(self) -> tuple[Any, ...]:
        return tuple(self.classes_.tolist())

    def _binary(self) -> Likelihood:
        return links.create(self.link)

    def _encoded(self, y: Any, *, reset: bool, classes: Any) -> np.ndarray:
        if self.n_outputs_ > 1:
            return self._labels(y)
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if reset:
            self.classes_ = np.unique(labels if classes is None else classes)
        if reset and len(self.classes_) < 2:
            raise DirectGPError(
                f"GPClassifier needs rows of at least two classes, got one class: "
                f"{self.classes_[0]!r}"
            )
        return self._numbers(labels)

    def _labels(self, y: np.ndarray) -> np.ndarray:
        """Several labels a row, each there (1), not there (0) or not known (NaN)."""
        known = y[np.isfinite(y)]
        if not np.isin(known, (0.0, 1.0)).all():
            raise DirectGPError(
                "labels in several columns must be 0 or 1 (or NaN), got others; use "
                "sklearn.multioutput.MultiOutputClassifier(GPClassifier()) for more classes"
            )
        self.classes_ = [np.array([0, 1])] * y.shape[1]
        return y

    def _numbers(self, labels: np.ndarray) -> np.ndarray:
        """Class numbers of labels; an error names the first label that is not known."""
        numbers = np.searchsorted(self.classes_, labels)
        numbers = np.minimum(numbers, len(self.classes_) - 1)
        unknown = self.classes_[numbers] != labels
        if unknown.any():
            raise DirectGPError(
                f"y has the label {labels[np.argmax(unknown)]!r}, which is none of the classes "
                f"{self.classes_.tolist()}; give all classes in the first fit"
            )
        return numbers.astype(np.float64)

    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.class_weight is None:
            return weight
        if y.ndim == 2:
            raise DirectGPError(
                f"class_weight={self.class_weight!r} is for a single column of classes, got "
                f"{y.shape[1]} labels a row; leave it at None or give sample_weight"
            )
        index, count = y.astype(np.intp), len(self.classes_)
        if self.class_weight == "balanced":
            totals = np.bincount(index, weights=weight, minlength=count)
            of_class = weight.sum() / (count * np.maximum(totals, np.finfo(float).tiny))
        else:
            of_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[index]
            )
        return weight * of_class[index]

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
            raise DirectGPError("its classes are not those of the model")
        self.classes_ = state["classes"]
