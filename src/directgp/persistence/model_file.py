"""The model file: safetensors whose header holds JSON, with a checksum over every byte."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from directgp.fitted import FittedGP
from directgp.fitting_outputs import FittedOutputs
from directgp.parameters import float64
from directgp.persistence.errors import (
    DamagedModelFile,
    ForeignFile,
    NewerModelFile,
)
from directgp.persistence.parts import Decoder, Encoder
from directgp.training.loop import History
from directgp.version import __version__

SCHEMA = 1
"""The format this directgp writes; files with a larger number are from a newer one."""

_KEY = "directgp-model"
_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_NO_CHECKSUM = b'"sha256":"' + b"0" * 64 + b'"'
_LONGEST_HISTORY = 1000


@dataclass(frozen=True)
class Loaded:
    """What a model file holds.

    `features` maps the name of every input column to its type; `summary` is how the model came
    about (version, β and its curve, why training ended, seconds, …); `extras` are the caller's.
    """

    fitted: FittedGP | FittedOutputs
    extras: dict[str, Any]
    features: dict[str, str]
    summary: dict[str, Any]


@float64
def save(
    fitted: FittedGP | FittedOutputs,
    path: str | os.PathLike[str],
    *,
    extras: Mapping[str, Any] | None = None,
    features: Mapping[str, str] | None = None,
) -> None:
    """Write a fitted model to one file, all or nothing: an old file survives a failure.

    `features` maps column names to types, in the order of the columns (x0, x1, … and "number"
    without it). `extras` may hold texts, numbers, lists, dicts, arrays and data classes of
    directgp. Not savable are kernels of other libraries; `NotSavable` names the part.
    """
    path = Path(path)
    width = len(fitted.inputs.shift)
    named = dict(features or {f"x{number}": "number" for number in range(width)})
    if len(named) != width:
        raise ValueError(f"features must name {width} columns, got {len(named)}: {list(named)}")
    encode = Encoder()
    content = {
        "schema": SCHEMA,
        "features": [[str(name), str(kind)] for name, kind in named.items()],
        "summary": encode(_summary(fitted), "summary"),
        "fitted": encode(fitted.with_history(_thinned(fitted.history)), "fitted"),
        "extras": encode(dict(extras or {}), "extras"),
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    blank = save_arrays(encode.arrays, metadata={_KEY: text, "sha256": "0" * 64})
    digest = b'"sha256":"' + hashlib.sha256(blank).hexdigest().encode() + b'"'
    head, found, tail = blank.partition(_NO_CHECKSUM)
    assert found
    _write_atomically(path, head + digest + tail)


def _write_atomically(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@float64
def load(path: str | os.PathLike[str]) -> Loaded:
    """Read a model; its predictions are those of the saved one to the last bit.

    A file that cannot be read raises a `ModelFileError` that says why: `ForeignFile`,
    `DamagedModelFile` (truncated or altered) or `NewerModelFile`.
    """
    content, arrays = _read(path)
    decode = Decoder(arrays)
    try:
        fitted, extras, summary = (decode(content[k]) for k in ("fitted", "extras", "summary"))
        features = {name: kind for name, kind in content["features"]}
    except LookupError as error:
        raise NewerModelFile(
            f"{path} has a part that this directgp does not know ({error.args[0]}); "
            "update directgp, or import the module that defines it and calls savable"
        ) from None
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedModelFile(
            f"{path} does not hold together ({str(error).splitlines()[0]}); save the model again"
        ) from None
    if not isinstance(fitted, FittedGP | FittedOutputs):
        raise ForeignFile(f"{path} holds no fitted model; give a file written by directgp's save")
    return Loaded(fitted, extras, features, summary)


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        data = Path(path).read_bytes()
    except IsADirectoryError:
        raise ForeignFile(f"{path} is a folder; give a file written by directgp's save") from None
    if f'"{_KEY}"'.encode() not in data:
        if b'"directgp-checkpoint"' in data:
            raise ForeignFile(
                f"{path} is a training checkpoint; resume the fit it is from, then save the model"
            )
        raise ForeignFile(
            f"{path} is not a directgp model ({len(data)} bytes); "
            "give a file written by directgp's save"
        )
    damaged = DamagedModelFile(
        f"{path} is damaged: its content does not match its checksum (truncated or altered); "
        "copy it again or save the model again"
    )
    checksum = _CHECKSUM.search(data)
    if checksum is None:
        raise damaged
    blank = data[: checksum.start()] + _NO_CHECKSUM + data[checksum.end() :]
    if hashlib.sha256(blank).hexdigest().encode() != checksum[1]:
        raise damaged
    try:
        header_size = int.from_bytes(data[:8], "little")
        content = json.loads(json.loads(data[8 : 8 + header_size])["__metadata__"][_KEY])
        schema = int(content["schema"])
        arrays = load_arrays(data)
    except (ValueError, TypeError, KeyError, SafetensorError):
        raise damaged from None
    if schema > SCHEMA:
        raise NewerModelFile(
            f"{path} is from a newer directgp (format {schema}, this one reads up to {SCHEMA}); "
            "update directgp"
        )
    return content, arrays


def _summary(fitted: FittedGP | FittedOutputs) -> dict[str, Any]:
    """How the model came about, readable without loading it."""
    model = fitted.gp.model
    return {
        "directgp": __version__,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
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
    """At most a thousand entries of each record, evenly spread, the last one kept.

    Records of the same length keep the same entries, so that they still belong together.
    """

    def chosen(length: int) -> np.ndarray:
        return np.unique(np.linspace(0, length - 1, min(length, _LONGEST_HISTORY)).round())

    return {
        name: [values[int(number)] for number in chosen(len(values))] if values else []
        for name, values in history.items()
    }
