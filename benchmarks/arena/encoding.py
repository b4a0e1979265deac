"""Encodings of tables for peers, fitted to training rows alone.

`native` keeps categories as categories (CatBoost, LightGBM, XGBoost, HistGradientBoosting);
`numbers` makes a matrix of numbers (NGBoost, scikit-learn's GP, linear models).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from benchmarks.arena.tables import Problem

MANY_LEVELS = 30
"""Columns with more levels than this are target-encoded (cross-fitted) instead of one-hot."""


def native(
    problem: Problem, max_levels: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Training and test frame with float columns and pandas categories, and the categories' names.

    Columns of ISO dates become numbers. Levels not seen in training become missing.

    Args:
        max_levels: rarer levels than the `max_levels - 1` most frequent become one, "(rare)".
    """
    train, test = _with_dates(problem.X, problem.X_test)
    categories = [name for name in train if not _numeric(train[name])]
    for name in train:
        if name not in categories:
            train[name], test[name] = train[name].astype(float), test[name].astype(float)
            continue
        first, second = (_text(frame[name]) for frame in (train, test))
        levels = first.value_counts().index.tolist()
        if max_levels is not None and len(levels) > max_levels:
            kept = set(levels[: max_levels - 1])
            levels = [*levels[: max_levels - 1], "(rare)"]
            first, second = (
                column.where(column.isna() | column.isin(kept), "(rare)")
                for column in (first, second)
            )
        dtype = pd.CategoricalDtype(levels)
        train[name], test[name] = first.astype(dtype), second.astype(dtype)
    return train, test, categories


def texts(problem: Problem) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """As `native`, with categories as strings and missing ones as a level, for CatBoost."""
    train, test, categories = native(problem)
    for frame in (train, test):
        for name in categories:
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "(missing)")
    return train, test, categories


def numbers(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows as standardised numbers without missing values.

    Categories are one-hot, or target-encoded above `MANY_LEVELS`; a missing number is the median,
    with an indicator column. Columns that are constant in training are left out.
    """
    train, test, categories = texts(problem)
    few = [name for name in categories if train[name].nunique() <= MANY_LEVELS]
    many = [name for name in categories if name not in few]
    numeric = [name for name in train if name not in categories]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop="if_binary")
    target = "continuous"
    if problem.kind == "classification":
        target = "binary" if len(problem.classes) == 2 else "multiclass"
    by_target = TargetEncoder(
        target_type=target,
        shuffle=True,
        random_state=problem.seed,  # cross-fitted on training rows
    )
    encode = ColumnTransformer(
        [
            ("numeric", SimpleImputer(strategy="median", add_indicator=True), numeric),
            ("few", one_hot, few),
            ("many", by_target, many),
        ]
    )
    pipeline: Pipeline = make_pipeline(encode, StandardScaler())
    X, X_test = pipeline.fit_transform(train, problem.y), pipeline.transform(test)
    varies = np.ptp(X, axis=0) > 0
    return X[:, varies], X_test[:, varies]


def _numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column)


def _text(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.notna(), None).map(str, na_action="ignore")


def _with_dates(*frames: pd.DataFrame) -> list[pd.DataFrame]:
    """The frames with columns of ISO dates as day number, day of the year and day of the week."""
    train, *_ = frames
    dates = [name for name in train if not _numeric(train[name]) and _are_dates(train[name])]
    made = []
    for frame in frames:
        frame = frame.copy()
        for name in dates:
            day = _read_dates(frame.pop(name))
            frame[f"{name}.day"] = (day - pd.Timestamp("2000-01-01")).dt.days.astype(float)
            frame[f"{name}.of_year"] = day.dt.dayofyear.astype(float)
            frame[f"{name}.of_week"] = day.dt.dayofweek.astype(float)
        made.append(frame)
    return made


def _are_dates(column: pd.Series) -> bool:
    known = column.dropna().astype(str)
    if known.empty or not known.str.match(r"\d{4}-\d\d-\d\d").mean() > 0.95:
        return False
    return bool(_read_dates(known).notna().mean() > 0.95)


def _read_dates(column: pd.Series) -> pd.Series:
    read = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=True)
    return read.dt.tz_localize(None)
