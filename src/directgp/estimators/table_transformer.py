"""`TableTransformer`: the table encoder as a scikit-learn transformer."""

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
    """Encode mixed tables as numbers, as the estimators and the command line do.

    Numbers are kept, missing ones imputed by the median with an indicator column; booleans become
    0 and 1, dates a trend and the position in year, week and day, categories one-hot columns. A
    category with more than `max_levels` levels is target-encoded: the mean target of the level
    (for classes, the share of each class but the first). `fit_transform` computes that out of
    fold; `fit(X, y).transform(X)` does not, so train on the result of `fit_transform`.

    `encoder_` is the fitted `TableEncoder`; its `report` lists the encoding of every column.

    Args:
        view: "gp", or "trees" for models that accept NaN and level numbers (the columns in
            `categorical_`).
        categories: names of columns to treat as categories even if they hold numbers.
        max_levels: None for the default of the view, 50 or 255.
        task: "regression" or "classes"; "auto" treats text, booleans and two distinct values of y
            as classes.

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

    @no_type_check  # scikit-learn requires that any value can be stored; `fit` checks it
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
        """Choose the encoding of every column; y is needed for target-encoded categories.

        Args:
            X: a table.
            y: targets, for categories of many levels.
            sample_weight: one weight per row.
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Float[np.ndarray, "N K"]:
        """Fit to the training rows and encode them out of fold, without leaking y.

        Args:
            X: a table.
            y: targets, for categories of many levels.
            sample_weight: one weight per row.
        """
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
        """Encode new rows."""
        check_is_fitted(self, "encoder_")
        return encoded(self, validated_rows(self, unmasked(X), reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the encoded columns."""
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
        """Mask of the encoded columns that hold level numbers."""
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
