"""Encoding of frames and arrays for a kind of model: `encode_frame` and `numbers_encoder`."""

from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from directgp.errors import DirectGPError
from directgp.tables.columns import NumberColumn
from directgp.tables.encode import TableEncoder
from directgp.tables.messages import TableError
from directgp.tables.missing import medians, missing_in
from directgp.tables.notes import Note
from directgp.tables.table import as_table
from directgp.tables.target_means import TargetValues

View = Literal["gp", "trees"]
VIEWS = {
    "gp": {"missing": "indicator", "max_levels": 50, "codes": False},
    "trees": {"missing": "keep", "max_levels": 255, "codes": True},
}
"""Options of `TableEncoder.fit` for each kind of model."""


class EncodedFrame(NamedTuple):
    """Encoded training rows, and the encoder for later rows."""

    encoder: TableEncoder
    X: Float[np.ndarray, "N D"]
    categorical: Bool[np.ndarray, "D"]
    """Mask of the columns of X that are level indices, 0 … L − 1 or NaN."""
    sources: tuple[str, ...]
    """For every column of X the column of the frame it comes from."""


def encode_frame(
    X: Any,
    y: Any = None,
    *,
    classes: Any = (),
    view: View = "gp",
    sample_weight: Float[np.ndarray, "N"] | None = None,
) -> EncodedFrame:
    """Encode training rows for a kind of model.

    The view "gp" has no missing values: numbers are imputed by the median with an indicator column,
    categories are columns of 0 and 1, or out-of-fold target means for many levels. The view "trees"
    keeps NaN and has categories as level indices (up to 255 levels, else target means). Numbers are
    not scaled, because `fit` does that.

    Encode later rows by `encoder.encode(X).X`, arrays by `encoder.encode_numbers(X)`.

    Args:
        X: a pandas, polars or Arrow table, a mapping of columns, or an array of numbers.
        y: targets [N] or [N T], or class numbers 0 … C − 1. Without it, categories of too many
            levels are dropped.
        classes: the labels of the classes, if y are class numbers.
        view: "gp" or "trees".
        sample_weight: the weight of each row in target means.

    >>> rows = {"size": [1.0, None, 3.0], "kind": ["a", "b", "b"]}
    >>> encode_frame(rows, [1.0, 2.0, 3.0]).X
    array([[1., 1., 0.],
           [2., 0., 1.],
           [3., 0., 0.]])
    >>> encoded = encode_frame(rows, [1.0, 2.0, 3.0], view="trees")
    >>> encoded.X, encoded.categorical
    (array([[ 1.,  1.],
           [nan,  0.],
           [ 3.,  0.]]), array([False,  True]))
    """
    if view not in VIEWS:
        raise DirectGPError(f"view must be one of {', '.join(VIEWS)}, got {view!r}")
    options = VIEWS[view]
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        values = np.asarray(X, dtype=np.float64)
        encoder = numbers_encoder(values, keep=options["missing"] == "keep")
        coded = encoder.encode_numbers(values)
    else:
        table = as_table(X)
        target = None if y is None else TargetValues.of(y, classes, sample_weight)
        if target is not None and len(target.values) != table.num_rows:
            raise TableError(
                f"X has {table.num_rows} rows but y has {len(target.values)}; they must be the "
                "same rows"
            )
        encoder = TableEncoder.fit(table, y=target, **options)
        coded = encoder.encode_training(table, target).X
    return EncodedFrame(encoder, coded, encoder.categorical, encoder.sources_of_inputs)


def numbers_encoder(
    X: Float[np.ndarray, "N D"], names: tuple[str, ...] | None = None, *, keep: bool = False
) -> TableEncoder:
    """The encoder of a numeric array, which drops no column and keeps known values bitwise.

    Args:
        X: the training rows.
        names: names of the columns; by default x0, x1, ….
        keep: keep NaN instead of imputing the median (0 if no value is known).
    """
    distinct = names is not None and len(set(names)) == len(names)
    names = names if names and distinct else tuple(f"x{k}" for k in range(X.shape[1]))
    gone = np.isnan(X)
    known = np.where(gone.all(axis=0), 0.0, X) if gone.any() else X
    marked = gone.any(axis=0) & ~gone.all(axis=0)
    first = {gone[:, k].tobytes(): names[k] for k in np.flatnonzero(marked)[::-1]}
    encoder = TableEncoder(
        columns=tuple(NumberColumn(name) for name in names),
        fills=tuple((value,) for value in medians(known).tolist()),
        indicated=() if keep else tuple(reversed(first.values())),
        missing="keep" if keep else "indicator",
        target=None,
        dropped=(),
        report=tuple(
            Note(
                name, "number" + missing_in(int(gone[:, k].sum()), "keep" if keep else "indicator")
            )
            for k, name in enumerate(names)
        ),
    )
    encoder.check_names_differ()
    return encoder
