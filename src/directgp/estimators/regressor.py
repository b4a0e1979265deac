"""`GPRegressor`: numbers and counts."""

from typing import Any, ClassVar, Literal, no_type_check

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from directgp.decisions import Cost
from directgp.errors import DirectGPError
from directgp.estimators.base import GPEstimator
from directgp.kernels import Kernel
from directgp.likelihoods import Likelihood, likelihoods
from directgp.losses import Loss, Score
from directgp.tables import unmasked


class GPRegressor(RegressorMixin, GPEstimator):
    """Gaussian-process regression, trained for the loss its predictions are judged by.

    With every option at its default it is a stack: exact GPs, boosted trees and, for many rows, a
    deep GP, each calibrated by rows it has not seen, weighed for `loss` (`fitting.stacking`). An
    option that speaks of one GP gives that one, as follows.

    `likelihood`: "gaussian", "student-t" (outliers), "poisson", "negative-binomial" (counts).
    `loss`: "log", "square", "crps", "pinball", a score such as `Pinball((0.9,))`, or the cost of a
    decision such as `NewsvendorCost(under=4, over=1)`; the names that `fit` takes ("direct-log",
    "elbo", …) say loss and objective at once.
    `objective`: "direct" scores the predictive distribution, "elbo" averages the score over f.
    `robust`: None, "beta" or "gamma" puts a score that outliers hardly move in the place of the log
    loss, for either objective; `robust_power` says how robust (above 1; None: 1.1 and 1.05).
    `beta`: weight of the divergence from the prior, "auto" to choose it on held-out rows
    (with several layers: 1, and held-out rows say which step was best); a number holds nothing out.
    `layers`: 1 is a sparse GP, 2 or more a deep sigma point process (`deep="samples"`: a deep GP),
    "auto" is 2 from 2000 rows on (direct log loss, Gaussian noise, one output), else 1; an inner
    layer is `width` wide (None: 8 at most). `features="mlp"` learns a network in front.
    `num_inducing`: None chooses from the number of rows. Up to `batch_size` rows are trained
    full-batch for `max_steps` at most (None: 2000), more for `epochs` (None: 60, or as many as make
    1000 steps); give both where tables of either size come. `time_budget` in seconds bounds it all.

    X is an array of numbers, or a pandas, polars or Arrow table with text, dates, truth values and
    gaps, which `encoder_` makes numbers of; NaN is missing.

    y [N T] is T outputs, learned together; NaN is a value that was not measured. Predictions are
    then [N T], and `predict_distribution` gives a tuple, one distribution an output.

    `fitted_` is the `FittedStack` (its `members`, `weights`, `seconds`) or the trained `FittedGP`
    (its `beta`, `history`, `reason`, `seconds`).

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> model = GPRegressor(beta=1.0, max_steps=200).fit(X, np.sin(6 * X[:, 0]))
    >>> mean, std = model.predict(X, return_std=True)
    >>> bool(np.abs(mean - np.sin(6 * X[:, 0])).max() < 0.2)
    True
    """

    _file_kind: ClassVar[str] = "GPRegressor"

    @no_type_check  # scikit-learn asks that anything may be stored; `fit` says what is wrong
    def __init__(
        self,
        likelihood: str | Likelihood = "gaussian",
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
        self.likelihood = likelihood
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
        # `score` is a log density, which has no "good" value as R² has: it depends on units.
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GPRegressor":
        """Learn from some more rows of a stream.

        The first call is `fit` (or comes after it): it chooses β, the scales and where the
        inducing points start. After a fit that made a stack, one GP of the rows that are
        remembered takes its place. Each later call takes 100 gradient steps on the new rows and on
        a sample of up to 1000 earlier ones that stands for all of them, so that old rows are not
        forgotten; q(u), inducing points, kernel and likelihood all go on learning. A file that
        `save` wrote holds no rows, so what is loaded from it begins its sample anew.
        """
        self._partial_fit(X, y, sample_weight)
        return self

    def predict(self, X: Any, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, ...]:
        """The mean of y at every row, and with `return_std` its standard deviation too.

        [N], or [N T] for several outputs.
        """
        both = self._predicted(X, lambda found: np.stack([found.mean, found.std], axis=-1))
        mean, std = both[..., 0], both[..., 1]
        return (mean, std) if return_std else mean

    def predict_quantiles(self, X: Any, levels: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """The y that is not exceeded with each probability: [N K], or [N] for one level.

        For several outputs [N T K] or [N T].
        """
        return self._predicted(X, lambda found: found.quantile(levels))

    def predict_interval(
        self, X: Any, coverage: float = 0.9, groups: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The interval that holds y with this probability.

        After `calibrate` it has the finite-sample guarantee of conformal prediction, and is
        infinite where rows to calibrate by are too few. Before, it is the central interval of the
        predictive distribution, which is as good as the model.

        Args:
            X: the rows.
            coverage: the probability, e.g. 0.9.
            groups: the group of each row, after `calibrate` with such labels.

        Returns:
            The lower and the upper end of every row.
        """
        predictive, calibration, own = self._sets(X, coverage, groups)
        if calibration is None:
            return predictive.interval(coverage)
        return calibration.bounds(predictive, coverage, own)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log predictive density of y in its own units (counts: log probability).

        Higher is better, and it rewards honest spreads; it is not R². For that use
        `sklearn.metrics.r2_score(y, model.predict(X))`. Of several outputs it is the mean over all
        measured values.
        """
        check_is_fitted(self, "fitted_")
        y = unmasked(y)
        targets = column_or_1d(y) if self.n_outputs_ == 1 else np.asarray(y)
        return self._mean_log_prob(X, targets.astype(np.float64), sample_weight)

    def _likelihood(self) -> Likelihood:
        chosen: Likelihood = likelihoods.resolve(self.likelihood)
        if chosen.support == "classes":
            raise DirectGPError(
                f"GPRegressor predicts numbers and counts, got likelihood {self.likelihood!r}; "
                "use GPClassifier for classes"
            )
        return chosen

    def _encoded(self, y: Any, *, reset: bool, classes: Any) -> np.ndarray:
        if self.n_outputs_ > 1:
            self._likelihood().check_targets(y[np.isfinite(y)])
            return y
        numbers = y.astype(np.float64)  # one finite column: `validate_data` has checked that
        return self._likelihood().check_targets(numbers)

    def _targets(self, y: Any) -> np.ndarray:
        numbers = column_or_1d(y).astype(np.float64)
        return self._likelihood().check_targets(numbers)

    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return weight

    def _restore(self, state: dict[str, Any]) -> None:
        if self.fitted_.likelihood.support == "classes":
            raise DirectGPError("its model is one of classes")
