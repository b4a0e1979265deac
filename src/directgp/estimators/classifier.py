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

from directgp.calibration.conformity import fewest_classes
from directgp.decisions import Cost, Decision
from directgp.errors import DirectGPError
from directgp.estimators.base import GPEstimator
from directgp.estimators.exact_inference import decide_inference, fit_inference
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

    `inference` finds the posterior of two classes and up to about 2000 rows instead of training it:
    "laplace", "ep", "loss-ep" (loss-calibrated EP), and, fitted to the decisions that `loss=cost`
    leads to, "loss-em", "linearised-loss-em" and "ep-loss-em" (`decisions.fit_exact_for_cost`).
    `cost_bound` is their M, by default the largest cost. `max_steps` is then of L-BFGS, for the
    kernel.

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
        inference: str | None = None,
        cost_bound: float | None = None,
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
        self.inference = inference
        self.cost_bound = cost_bound
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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_test: Any = None,
        test_weight: Any = None,
    ) -> "GPClassifier":
        """Train on rows X with targets y; a row of weight 2 counts as two rows.

        Args:
            X: rows, [N D] or a frame.
            y: labels, [N], or [N T] of zeros and ones for T labels a row, NaN if not known.
            sample_weight: one weight for each row.
            X_test: the rows that decisions will be made for, where `inference` is a loss-EM;
                without them the training rows stand for them.
            test_weight: how often each of these rows is met. At training rows, ratios of densities
                p_test/p_train stand for test rows from elsewhere (covariate shift).
        """
        if self.inference is None:
            if X_test is not None or test_weight is not None or self.cost_bound is not None:
                raise DirectGPError(
                    "X_test, test_weight and cost_bound are for a loss-EM; give e.g. "
                    "inference='loss-em' too, or leave them out"
                )
            super().fit(X, y, sample_weight)
            return self
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
    ) -> Decision:
        """What to do at every row so that the expected cost is smallest; see `decisions.decide`.

        Args:
            X: the rows to decide.
            cost: may be left out by an estimator that was trained for one (`loss=cost`).
            groups: the group of each row, after `calibrate` with such labels.
            transductive: run the loss-EM of `inference` for these rows: its posterior and the
                decisions at all of them are then fitted to each other.
            test_weight: how often each of these rows is met, where it is run for them.
        """
        if not transductive:
            if test_weight is not None:
                raise DirectGPError("test_weight has no effect without transductive=True")
            return super().decide(X, cost, groups)
        check_is_fitted(self, "fitted_")
        if cost is None and not isinstance(self.loss, Cost):
            raise DirectGPError("say what mistakes cost, e.g. decide(X, BinaryCost(1, 20))")
        return decide_inference(self, X, self.loss if cost is None else cost, test_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> "GPClassifier":
        """Learn from some more rows of a stream; see `GPRegressor.partial_fit`.

        `classes` are all labels that will ever occur, needed in the first call if it lacks some;
        rows of two classes at least must be in it.
        """
        if self.inference is not None:
            raise DirectGPError(
                f"inference={self.inference!r} needs all rows at once; use fit(), or leave out "
                "inference"
            )
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

    def predict_set(self, X: Any, coverage: float = 0.9, groups: Any = None) -> np.ndarray:
        """The classes among which the true one is, with this probability.

        After `calibrate` that is a finite-sample guarantee, and a set holds all classes where rows
        to calibrate by are too few. Before, sets are the fewest classes whose probabilities sum to
        the coverage, which is as good as the model.

        Args:
            X: the rows.
            coverage: the probability, e.g. 0.9.
            groups: the group of each row, after `calibrate` with such labels.

        Returns:
            Whether each class is in the set, [N K] in the order of `classes_`.
        """
        predictive, calibration, own = self._sets(X, coverage, groups)
        if calibration is None:
            return fewest_classes(predictive, coverage)
        return calibration.classes(predictive, coverage, own)

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

    def _targets(self, y: Any) -> np.ndarray:
        return self._numbers(column_or_1d(y))

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
