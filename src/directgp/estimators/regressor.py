"""`GPRegressor`: numbers and counts."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from directgp.errors import DirectGPError
from directgp.estimators.base import GPEstimator

if TYPE_CHECKING:
    from directgp.likelihoods import Likelihood


@dataclass(eq=False, repr=False)
class GPRegressor(RegressorMixin, GPEstimator):
    """Gaussian-process regression, trained for the loss by which predictions are evaluated.

    With default parameters it is a stack: exact GPs, boosted trees and, for many rows, a deep GP,
    each calibrated on out-of-fold predictions, with mixture weights that minimise `loss`
    (`fitting.stacking`). A parameter of a single GP selects one GP instead.

    X is a numeric array, or a pandas, polars or Arrow table with text, dates, booleans and missing
    values, encoded by `encoder_`. y [N T] is T outputs fitted jointly, with NaN for missing values;
    predictions are then [N T], and `predict_distribution` returns one distribution per output.

    `fitted_` is the `FittedStack` (`members`, `weights`, `seconds`), the `FittedGP` (`beta`,
    `history`, `reason`, `seconds`) or the `FittedExactRegression` (`left_out`, `log_evidence`).

    Args:
        likelihood: "gaussian", "student-t" (outliers), "poisson" or "negative-binomial" (counts).
        loss: "log", "square", "crps", "pinball", a score such as `Pinball((0.9,))`, or the cost of
            a decision such as `NewsvendorCost(under=4, over=1)`. The names of `fit` ("direct-log",
            "elbo", …) set loss and objective together.
        objective: "direct" scores the predictive distribution (log E[p(y|f)] for the log loss),
            "elbo" averages the score over q(f).
        robust: "beta" or "gamma" replaces the log loss by a score that is robust to outliers.
        robust_power: its power, above 1; None is 1.1 for "beta" and 1.05 for "gamma".
        beta: weight of the divergence from the prior. "auto" chooses it on held-out rows; with
            several layers it is 1, and held-out rows choose the best step. "pac-bayes" is √n.
        divergence: "kl", "renyi:alpha=0.5", "weighted-kl:w=0.5", a `Divergence`, or a list with one
            for each layer.
        expectation: how integrals over f are computed: None (closed form or quadrature),
            "monte-carlo:samples=20", "product-sampling", "gauss-hermite:points=64", …
        hyperparameters: "joint", or "from-elbo", of an ELBO fit.
        inference: None trains the model; "exact" is an exact GP of up to 5,000 different rows,
            fitted by evidence (objective="elbo") or by its leave-one-out loss (`Exact`).
        learn_from: rows that most steps of an exact GP see; None is 600.
        num_inducing: None chooses from the number of rows.
        kernel: a registered name or a `Kernel`.
        layers: 1 is a sparse GP, 2 or more a deep sigma point process. "auto" is the stack; where
            another parameter selects one GP it is 2 from 2000 rows on (direct log loss, Gaussian
            noise, one output), else 1.
        mean_inducing: further inducing points for the mean alone (`Decoupled`).
        mean_field: diagonal covariance of q(u); None is True with several layers, else False.
        own_kernels: separate kernels for latent functions (`Sparse`, `Deep`).
        width: of inner layers; None is at most 8.
        deep: "sigma-points", or "samples" for a deep GP.
        num_sites: sigma points, or samples in training.
        starts: initial values of sigma points that are tried; None is 3.
        quadrature: rule of the sigma points.
        predict_samples: samples of a deep GP at prediction; None is 50.
        skip: show the inputs to every layer.
        features: "mlp" trains a neural network in front of the GP.
        feature_widths: of its layers.
        epochs: for more rows than `batch_size`; None is 60, or as many as make 1000 steps.
        max_steps: for at most `batch_size` rows, trained full-batch; None is 2000.
        batch_size: rows per mini-batch; None is full-batch.
        learning_rate: None is the default of the model.
        patience: stop after so many chunks of steps without improvement on held-out rows.
        precision: "auto", "float64" or "mixed".
        tolerance: full-batch training ends when the objective per row moved by at most this over
            `window` steps.
        window: see `tolerance`.
        time_budget: seconds for the whole fit.
        warm_start: continue from the previous fit.
        random_state: seed or generator.
        verbose: show progress.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> model = GPRegressor(beta=1.0, max_steps=200).fit(X, np.sin(6 * X[:, 0]))
    >>> mean, std = model.predict(X, return_std=True)
    >>> bool(np.abs(mean - np.sin(6 * X[:, 0])).max() < 0.2)
    True
    """

    _file_kind: ClassVar[str] = "GPRegressor"

    likelihood: "str | Likelihood" = "gaussian"
    inference: str | None = field(default=None, kw_only=True)
    learn_from: int | None = field(default=None, kw_only=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # `score` is a log density: it depends on units and has no "good" value as R² has.
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GPRegressor":
        """Update the model with a batch of a stream.

        The first call is a `fit`: it chooses β, the scaling and the initial inducing points. If
        the model is a stack, it is replaced by one GP fitted to the remembered rows. Each later
        call takes 100 gradient steps on the new rows and on a reservoir sample of up to 1000
        earlier rows, weighted to represent all of them; q(u), inducing points, kernel and
        likelihood are all trained. A saved file holds no rows, so a loaded model starts a new
        sample.

        Args:
            X: inputs of the new rows.
            y: their targets.
            sample_weight: one weight per row.
        """
        self._partial_fit(X, y, sample_weight)
        return self

    def predict(self, X: Any, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, ...]:
        """Predictive mean, and with `return_std` also the standard deviation of y.

        Args:
            X: inputs [N D].
            return_std: whether to return the standard deviation too.

        Returns:
            [N], or [N T] for several outputs; with `return_std` a pair of these.
        """
        both = self._predicted(X, lambda found: np.stack([found.mean, found.std], axis=-1))
        mean, std = both[..., 0], both[..., 1]
        return (mean, std) if return_std else mean

    def predict_quantiles(self, X: Any, levels: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Predictive quantiles.

        Args:
            X: inputs [N D].
            levels: one probability or K probabilities.

        Returns:
            [N K], or [N] for one level; for several outputs [N T K] or [N T].
        """
        return self._predicted(X, lambda found: found.quantile(levels))

    def predict_interval(
        self, X: Any, coverage: float = 0.9, groups: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Prediction intervals that contain y with this probability.

        After `calibrate` they have the finite-sample coverage of conformal prediction, and are
        infinite if the calibration rows are too few. Otherwise they are the central intervals of
        the predictive distribution.

        Args:
            X: inputs [N D].
            coverage: the probability, e.g. 0.9.
            groups: the group of each row, if `calibrate` was given groups.

        Returns:
            The lower and the upper ends, [N] each.
        """
        predictive, calibration, own = self._sets(X, coverage, groups)
        if calibration is None:
            return predictive.interval(coverage)
        return calibration.bounds(predictive, coverage, own)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log predictive density of y in its own units (for counts, log probability).

        Higher is better. For R² use `sklearn.metrics.r2_score(y, model.predict(X))`. For several
        outputs it is the mean over all observed values.

        Args:
            X: inputs [N D].
            y: targets, [N] or [N T].
            sample_weight: one weight per row.
        """
        check_is_fitted(self, "fitted_")
        from directgp.estimators.outputs import target_numbers
        from directgp.tables import unmasked

        y = unmasked(y)
        targets = column_or_1d(y) if self.n_outputs_ == 1 else np.asarray(y)
        return self._mean_log_prob(X, target_numbers(targets), sample_weight)

    def _likelihood(self) -> "Likelihood":
        from directgp.likelihoods import Likelihood, likelihoods

        chosen: Likelihood = likelihoods.resolve(self.likelihood)
        if chosen.support == "classes":
            raise DirectGPError(
                f"GPRegressor predicts numbers and counts, got likelihood {self.likelihood!r}; "
                "use GPClassifier for classes"
            )
        return chosen

    def _encoded(self, y: Any, *, reset: bool, classes: Any) -> np.ndarray:
        from directgp.estimators.outputs import target_numbers

        if self.n_outputs_ > 1:
            self._likelihood().check_targets(y[np.isfinite(y)])
            return y
        return self._likelihood().check_targets(target_numbers(y))

    def _targets(self, y: Any) -> np.ndarray:
        from directgp.estimators.outputs import target_numbers

        return self._likelihood().check_targets(target_numbers(column_or_1d(y)))

    def _row_weights(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return weight

    def _restore(self, state: dict[str, Any]) -> None:
        if self.fitted_.likelihood.support == "classes":
            raise DirectGPError("its model is a classifier")
