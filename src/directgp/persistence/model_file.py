"""The model file: safetensors whose header holds JSON, with a checksum over every byte."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as save_arrays

from directgp.atomic_write import write_bytes
from directgp.errors import DirectGPError
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.fitted_exact_regression import FittedExactRegression, loss_in_words
from directgp.fitting.stacking import FittedClassStack, FittedCountStack, FittedStack, Stack
from directgp.parameters import float64
from directgp.persistence.bounded_json import read_json
from directgp.persistence.class_stack_checks import check_class_stack
from directgp.persistence.container import CONTENT, KEY, NO_CHECKSUM, SCHEMA, digest, read_container
from directgp.persistence.count_stack_checks import check_count_stack
from directgp.persistence.errors import (
    DamagedModelFile,
    ForeignFile,
    NewerModelFile,
    NotSavable,
    one_line,
)
from directgp.persistence.exact_classifier_checks import check_exact
from directgp.persistence.exact_regression_checks import check_exact_regression
from directgp.persistence.field_types import conforms
from directgp.persistence.gp_checks import check_fitted
from directgp.persistence.parts import Decoder, Encoder, UnknownPart
from directgp.persistence.stack_checks import check_stack
from directgp.persistence.work_bounds import check_work
from directgp.training.loop import History
from directgp.version import __version__

_PARTS = {"schema", "features", "summary", "fitted", "extras"}
_LONGEST_HISTORY = 1000


@dataclass(frozen=True)
class Loaded:
    """The content of a model file.

    `features` maps the name of every input column to its type; `summary` describes the training
    (version, β and its curve, why training ended, seconds, …); `extras` is the argument of `save`.
    """

    fitted: Fitted
    extras: dict[str, Any]
    features: dict[str, str]
    summary: dict[str, Any]


@float64
def save(
    fitted: Fitted,
    path: str | os.PathLike[str],
    *,
    extras: Mapping[str, Any] | None = None,
    features: Mapping[str, str] | None = None,
) -> None:
    """Write a fitted model to one file; an existing file is kept if writing fails.

    Classes of other libraries cannot be saved; `NotSavable` names such a part.

    Args:
        fitted: the model.
        path: the file.
        extras: further content: texts, numbers, lists, dicts, arrays, data classes of directgp.
        features: types of the input columns by name, in their order; by default "number" for x0,
            x1, ….
    """
    path = Path(path)
    width = len(fitted.inputs.shift)
    named = dict(features or {f"x{number}": "number" for number in range(width)})
    if len(named) != width:
        raise DirectGPError(f"features must name {width} columns, got {len(named)}: {list(named)}")
    encode = Encoder()
    content = {
        "schema": SCHEMA,
        "features": [[str(name), str(kind)] for name, kind in named.items()],
        "summary": encode(_summary(fitted), "summary"),
        "fitted": encode(_as_stored(fitted), "fitted"),
        "extras": encode(dict(extras or {}), "extras"),
    }
    try:
        _decoded(content, encode.arrays)
    except ValueError as error:
        raise NotSavable(f"this model could not be read again ({one_line(error)})") from None
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    metadata = {KEY: text, CONTENT: digest(text, encode.arrays), "sha256": "0" * 64}
    blank = save_arrays(encode.arrays, metadata=metadata)
    checksum = b'"sha256":"' + hashlib.sha256(blank).hexdigest().encode() + b'"'
    head, found, tail = blank.partition(NO_CHECKSUM)
    assert found
    write_bytes(path, head + checksum + tail)


@float64
def load(path: str | os.PathLike[str]) -> Loaded:
    """Read a model; its predictions are bitwise those of the saved one.

    A file that cannot be read raises a `ModelFileError`: `ForeignFile`, `DamagedModelFile`
    (truncated or altered) or `NewerModelFile`. Nothing in the file is executed or imported, and
    every number, shape and class in it is checked.
    """
    text, arrays = read_container(path)
    try:
        return _decoded(read_json(text), arrays)
    except UnknownPart as error:
        raise NewerModelFile(
            f"{path} has a part that this directgp does not know ({one_line(error)}); "
            "update directgp, or import the module that defines it and calls savable"
        ) from None
    except NoModel:
        raise ForeignFile(
            f"{path} holds no fitted model; give a file written by directgp's save"
        ) from None
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise DamagedModelFile(
            f"{path} is inconsistent ({one_line(error)}); save the model again"
        ) from None


_CHECKS: dict[type, Callable[[Any], None]] = {
    FittedGP: check_fitted,
    FittedStack: check_stack,
    FittedClassStack: check_class_stack,
    FittedCountStack: check_count_stack,
    FittedExact: check_exact,
    FittedExactRegression: check_exact_regression,
}
"""Types that a file may hold, each with its consistency check."""


class NoModel(DirectGPError):
    """A file without a fitted model."""


def _decoded(content: Any, arrays: dict[str, np.ndarray]) -> Loaded:
    """The content of a file, after all consistency checks."""
    if not isinstance(content, dict) or set(content) != _PARTS:
        raise DirectGPError("its keys are not those of a model file")
    decode = Decoder(arrays)
    fitted, extras, summary = (decode(content[k], k) for k in ("fitted", "extras", "summary"))
    check = _CHECKS.get(type(fitted))
    if check is None:
        raise NoModel("no fitted model")
    decode.check_all_used()
    if not isinstance(extras, dict) or not isinstance(summary, dict):
        raise DirectGPError("its extras or its summary are not a mapping")
    check(fitted)
    check_work(fitted)
    pairs = content["features"]
    if not conforms(pairs, list[list[str]]) or any(len(pair) != 2 for pair in pairs):
        raise DirectGPError("its features are not pairs of texts")
    features = {name: kind for name, kind in pairs}
    width = len(fitted.inputs.shift)
    if not len(pairs) == len(features) == width:
        raise DirectGPError(f"it names {len(features)} features, the model has {width} inputs")
    return Loaded(fitted, extras, features, summary)


def _as_stored(fitted: Fitted) -> Fitted:
    """The model with a shortened training history."""
    if not isinstance(fitted, FittedGP):
        return fitted
    return fitted.with_history(_thinned(fitted.history))


def _summary(fitted: Fitted) -> dict[str, Any]:
    """Summary of the training, readable without loading the model."""
    written = {
        "directgp": __version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if isinstance(fitted, Stack):
        return written | {
            "model": type(fitted).__name__,
            "loss": fitted.loss,
            "weights": fitted.shares,
            "seconds": fitted.seconds,
        }
    if isinstance(fitted, FittedExact):
        return written | {
            "model": type(fitted).__name__,
            "inference": fitted.inference,
            "likelihood": type(fitted.likelihood).__name__,
            "log_evidence": fitted.log_evidence,
            "seconds": fitted.seconds,
        }
    if isinstance(fitted, FittedExactRegression):
        return written | {
            "model": type(fitted).__name__,
            "loss": loss_in_words(fitted.loss),
            "log_evidence": fitted.log_evidence,
            "seconds": fitted.seconds,
        }
    model = fitted.gp.model
    return written | {
        "model": type(model).__name__,
        "likelihood": type(fitted.gp.likelihood).__name__,
        "loss": repr(fitted.objective.loss),
        "divergence": repr(fitted.objective.divergence),
        "inducing_points": [q.moments()[0].shape[-1] for q in model.posteriors],
        "beta": fitted.beta,
        "beta_curve": fitted.beta_curve,
        "reason": fitted.reason,
        "seconds": fitted.seconds,
    }


def _thinned(history: History) -> History:
    """At most a thousand evenly spaced entries of each record, including the last.

    Records of the same length keep the same entries.
    """

    def chosen(length: int) -> np.ndarray:
        return np.unique(np.linspace(0, length - 1, min(length, _LONGEST_HISTORY)).round())

    return {
        name: [values[int(number)] for number in chosen(len(values))] if values else []
        for name, values in history.items()
    }
