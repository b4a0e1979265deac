"""`TableTransformer`: the encoder of tables as a scikit-learn transformer."""

from typing import Any, Literal, no_type_check

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from directgp.errors import DirectGPError
from directgp.estimators.inputs import encoded, fit_encoder, names_in, validated_rows
from directgp.estimators.rows import checked_weights
from directgp.tables import TableEncoder, TargetValues, unmasked
from directgp.tables.frames import VIEWS

_TASKS = ("auto", "regression", "classes")


class TableTransformer(TransformerMixin, BaseEstimator):
    """Tables of any columns as numbers, by the code of the estimators and the command line.

    Numbers stay as they are, with the median and an indicator where they are missing; booleans are
    0 and 1, dates a trend and positions in the year, the week and the day, categories columns of 0
    and 1. A category of more than `max_levels` levels becomes the mean of the target at each level
    (of classes the share of each but the first), which `fit_transform` cross-fits: no row sees its
    own target. `fit(X, y).transform(X)` does not, so train on what `fit_transform` returns.

    `view`: "gp", or "trees" for models that take NaN and numbers of levels as they are
    (`categorical_` says which columns those are).
    `categories`: names of columns that are labels even where they look like numbers.
    `max_levels`: None for what suits the view, 50 or 255.
    `task`: what y is, "regression" or "classes"; "auto" takes text, booleans and two values for
    classes.

    `encoder_` is the fitted `TableEncoder`; its `report` says what became of every column.

    >>> rows = [[1.0, "red"], [2.0, "blue"], [None, "blue"]]
    >>> transformer = TableTransformer().fit(rows)
    >>> transformer.transform(rows)
    array([[1. , 1. , 0. ],
           [2. , 0. , 0. ],
           [1.5, 0. , 1. ]])
    >>> transformer.get_feature_names_out().tolist()
    ['x0', 'x1=red', 'x0 missing']
    """

    encoder_: TableEncoder
    n_features_in_: int
    feature_names_in_: np.ndarray
    _columns: tuple[str, ...] | None

    @no_type_check  # scikit-learn asks that anything may be stored; `fit` says what is wrong
    def __init__(
        self,
        view: Literal["gp", "trees"] = "gp",
        categories: Any = (),
        max_levels: int | None = None,
        task: Literal["auto", "regression", "classes"] = "auto",
    ):
        self.view = view
        self.categories = categories
        self.max_levels = max_levels
        self.task = task

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "TableTransformer":
        """Learn what becomes of every column; y is needed for categories of many levels."""
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Float[np.ndarray, "N K"]:
        """Learn from training rows and return them as numbers that do not give away their y."""
        labelled = len(self.categories) > 0
        rows = validated_rows(self, unmasked(X), reset=True, as_frame=labelled)
        target = None
        if y is not None:
            check_consistent_length(rows, y)
            target = self._target(y, sample_weight)
        options = self._options(rows)
        self.encoder_, numbers = fit_encoder(rows, target, names_in(self), **options)
        return numbers

    def transform(self, X: Any) -> Float[np.ndarray, "N K"]:
        """Later rows as numbers."""
        check_is_fitted(self, "encoder_")
        return encoded(self, validated_rows(self, unmasked(X), reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The name of every column of what `transform` returns."""
        check_is_fitted(self, "encoder_")
        given = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            if given is not None and list(input_features) != list(given):
                raise DirectGPError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise DirectGPError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(input_features)}"
                )
        return np.array(self.encoder_.names, dtype=object)

    @property
    def categorical_(self) -> np.ndarray:
        """Which columns of what `transform` returns are numbers of levels."""
        check_is_fitted(self, "encoder_")
        return self.encoder_.categorical

    def _options(self, rows: np.ndarray | pa.Table) -> dict[str, Any]:
        if self.view not in VIEWS:
            raise DirectGPError(f"view must be one of {', '.join(VIEWS)}, got {self.view!r}")
        options = dict(VIEWS[self.view])
        if not isinstance(rows, pa.Table):
            return options
        if self.max_levels is not None:
            options["max_levels"] = self.max_levels
        return options | {"categories": tuple(self.categories)}

    def _target(self, y: Any, sample_weight: Any) -> TargetValues:
        if self.task not in _TASKS:
            raise DirectGPError(f"task must be one of {', '.join(_TASKS)}, got {self.task!r}")
        values = np.asarray(unmasked(y))
        weight = checked_weights(sample_weight, len(values))
        classes = self.task == "classes"
        if self.task == "auto" and values.ndim == 1:
            classes = values.dtype.kind not in "iuf" or len(np.unique(values)) == 2
        if not classes:
            return TargetValues.of(values.astype(np.float64), weight=weight)
        labels, numbers = np.unique(values, return_inverse=True)
        return TargetValues.of(numbers.ravel(), labels.tolist(), weight)
