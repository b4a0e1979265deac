"""`GPClassifier`: two classes or more."""

from typing import Any, ClassVar, Literal, no_type_check

import numpy as np
from jaxtyping import Float
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from directgp.decisions import Cost
from directgp.estimators.base import GPEstimator
from directgp.kernels import Kernel
from directgp.likelihoods import BernoulliLogit, BernoulliProbit, Categorical, Likelihood
from directgp.losses import Loss, Score
from directgp.predictive import ClassProbabilities
from directgp.registry import Registry

links = Registry("link")
links.register("probit")(BernoulliProbit)
links.register("logit")(BernoulliLogit)


class GPClassifier(ClassifierMixin, GPEstimator):
    """Sparse Gaussian-process classification, trained for the loss its predictions are judged by.

    Two classes use the `link` "probit" or "logit"; more have one latent function each and the
    softmax. `class_weight` is None, "balanced" or a dict of label to weight. `loss` is "log" or
    "crps" (the Brier score of two classes), or a cost such as `BinaryCost(1, 20)`, for which it is
    then trained (`decisions.fit_for_cost`). There is one layer unless `layers` says more. The
    other parameters are those of `GPRegressor`.

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
        beta: float | Literal["auto"] = "auto",
        num_inducing: int | None = None,
        kernel: str | Kernel = "matern52",
        layers: int | Literal["auto"] = 1,
        width: int | None = None,
        deep: Literal["sigma-points", "samples"] = "sigma-points",
        features: Literal["mlp"] | None = None,
        class_weight: Any = None,
        epochs: float | None = None,
        max_steps: int = 2000,
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

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "GPClassifier":
        """Learn from some more rows of a stream; see `GPRegressor.partial_fit`.

        `classes` are all labels that will ever occur, needed in the first call if it lacks some;
        rows of two classes at least must be in it.
        """
        self._partial_fit(X, y, sample_weight, classes)
        return self

    def predict_proba(self, X: Any) -> Float[np.ndarray, "N K"]:
        """The probability of every class, in the order of `classes_`."""
        predictive = self.predict_distribution(X)
        assert isinstance(predictive, ClassProbabilities)
        return predictive.probabilities

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "N K"]:
        """The logarithm of `predict_proba`, exact for rare classes."""
        predictive = self.predict_distribution(X)
        assert isinstance(predictive, ClassProbabilities)
        return predictive.log_probabilities

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row."""
        number = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[number]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log probability given to the right class: higher is better, 0 is certainty.

        It is not the accuracy; for that use `sklearn.metrics.accuracy_score(y, model.predict(X))`.
        """
        predictive = self.predict_distribution(X)
        numbers = self._numbers(column_or_1d(y))
        return float(np.average(predictive.log_density(numbers), weights=sample_weight))

    def _likelihood(self) -> Likelihood:
        binary, count = self._binary(), len(self.classes_)
        return binary if count == 2 else Categorical(count)

    def _labels(self) -> tuple[Any, ...]:
        return tuple(self.classes_.tolist())

    def _binary(self) -> Likelihood:
        return links.create(self.link)

    def _encoded(self, y: Any, *, reset: bool, classes: Any) -> np.ndarray:
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if reset:
            self.classes_ = np.unique(labels if classes is None else classes)
        if reset and len(self.classes_) < 2:
            raise ValueError(
                f"GPClassifier needs rows of at least two classes, got one class: "
                f"{self.classes_[0]!r}"
            )
        return self._numbers(labels)

    def _numbers(self, labels: np.ndarray) -> np.ndarray:
        """Class numbers of labels; an error names the first label that is not known."""
        numbers = np.searchsorted(self.classes_, labels)
        numbers = np.minimum(numbers, len(self.classes_) - 1)
        unknown = self.classes_[numbers] != labels
        if unknown.any():
            raise ValueError(
                f"y has the label {labels[np.argmax(unknown)]!r}, which is none of the classes "
                f"{self.classes_.tolist()}; give all classes in the first fit"
            )
        return numbers.astype(np.float64)

    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.class_weight is None:
            return weight
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
        self.classes_ = state["classes"]
