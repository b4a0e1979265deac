"""Checkpoints: one safetensors file, written atomically, never pickle."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from directgp.atomic_write import remove_leftovers, write_bytes
from directgp.distributed import Team
from directgp.errors import DirectGPError
from directgp.parameters import float64, on_device
from directgp.training.loop import State

_VERSION = 3
_MOST_STEPS = 1 << 53
_FACTS: dict[str, type | tuple[type, ...]] = {
    "step": int,
    "rate_factor": (int, float),
    "failures": int,
    "best_validation": str,
    "has_best": bool,
    "since_best": int,
    "fallback": int,
    "done": str,
    "recent": list,
    "history": dict,
}
"""Fields of a checkpoint other than its arrays, with their types."""


def _named_leaves(state: State) -> dict[str, np.ndarray]:
    best = state.learned if state.best_learned is None else state.best_learned
    trees = {
        "learned": state.learned,
        "moments": state.moments,
        "proven": state.proven,
        "best": best,
    }
    named = {}
    for name, tree in trees.items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            named[name + jax.tree_util.keystr(path)] = np.asarray(leaf)
    return named


def fingerprint(*parts: Any) -> str:
    """A digest of data and settings, so that a checkpoint is used for its own run only.

    The `repr` of an Equinox module does not contain its numbers, so the arrays are hashed as well.
    """
    digest = hashlib.sha256(repr(parts).encode())
    for leaf in jax.tree.leaves(parts):
        if isinstance(leaf, np.ndarray | jax.Array):
            array = np.asarray(leaf)
            digest.update(str((array.shape, array.dtype)).encode())
            digest.update(array.tobytes())
    return digest.hexdigest()[:32]


def write(path: str | os.PathLike[str], state: State, run_id: str) -> None:
    """Write the state of a run; on a failure the old file remains.

    Args:
        path: of the file.
        state: of the training loop.
        run_id: identifies the run.
    """
    facts = {
        "version": _VERSION,
        "run_id": run_id,
        "step": state.step,
        "rate_factor": state.rate_factor,
        "failures": state.failures,
        "best_validation": repr(state.best_validation),
        "has_best": state.best_learned is not None,
        "since_best": state.since_best,
        "fallback": state.fallback,
        "done": state.done,
        "recent": state.recent,
        "history": state.history,
    }
    # Not np.ascontiguousarray, which would turn a scalar into an array of one.
    named = {name: np.array(leaf, order="C") for name, leaf in _named_leaves(state).items()}
    _write(path, named, facts)


def write_note(path: str | os.PathLike[str], note: Any, run_id: str) -> None:
    """Write a value for a resumed run.

    Args:
        path: of the file.
        note: anything that JSON can represent.
        run_id: identifies the run.
    """
    _write(path, {}, {"version": _VERSION, "run_id": run_id, "note": note})


def read_note(path: str | os.PathLike[str], run_id: str) -> Any:
    """Read what `write_note` wrote.

    Args:
        path: of the file.
        run_id: identifies the run; a note of another run is an error.
    """
    facts = _read(path, run_id)[0]
    if "note" not in facts:
        raise DirectGPError(f"{path} is not a directgp checkpoint; remove it to start afresh")
    return facts["note"]


def _write(path: str | os.PathLike[str], arrays: dict[str, np.ndarray], facts: dict) -> None:
    write_bytes(path, save(arrays, metadata={"directgp-checkpoint": json.dumps(facts)}))


def remove(path: Path) -> None:
    """Delete a checkpoint, and temporary files of killed processes."""
    path.unlink(missing_ok=True)
    remove_leftovers(path)


def read_jointly(path: Path, template: State, run_id: str, team: Team) -> State:
    """`read` of the leader's file in every process of a team.

    Args:
        path: of the file.
        template: a state of the same structure.
        run_id: of the run that wrote it.
        team: the processes.
    """
    if team.size == 1:
        return read(path, template, run_id)
    content = team.jointly(lambda: path.read_bytes() if team.leads else b"")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(team.gather(content)[0])
        return team.jointly(lambda: read(copy, template, run_id))


@float64
def read(path: str | os.PathLike[str], template: State, run_id: str) -> State:
    """Read a state.

    Args:
        path: of the file.
        template: a state of the same structure, such as the initial one.
        run_id: identifies the run; a checkpoint of another run is an error.
    """
    facts, arrays = _read(path, run_id)
    expected = _named_leaves(template)
    if not _are_sound(facts, template):
        raise DirectGPError(f"{path} is not a directgp checkpoint; remove it to start afresh")
    own, found = (
        {name: (array.shape, array.dtype) for name, array in arrays.items()}
        for arrays in (expected, arrays)
    )
    if own != found:
        raise DirectGPError(
            f"checkpoint {path} belongs to another model; remove it or use another file"
        )

    def fill(name: str, tree: PyTree) -> PyTree:
        leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
        found = [on_device(arrays[name + jax.tree_util.keystr(key)]) for key, _ in leaves]
        return jax.tree_util.tree_unflatten(structure, found)

    return State(
        learned=fill("learned", template.learned),
        moments=fill("moments", template.moments),
        proven=fill("proven", template.learned),
        step=facts["step"],
        rate_factor=facts["rate_factor"],
        failures=facts["failures"],
        best_validation=float(facts["best_validation"]),
        best_learned=fill("best", template.learned) if facts["has_best"] else None,
        since_best=facts["since_best"],
        fallback=facts["fallback"],
        done=facts["done"],
        recent=facts["recent"],
        history=facts["history"],
    )


def _are_sound(facts: dict[str, Any], template: State) -> bool:
    """Whether the fields have valid values, because files may be damaged."""
    if not all(name in facts and isinstance(facts[name], kind) for name, kind in _FACTS.items()):
        return False
    counts = ("step", "failures", "since_best", "fallback")
    records = [facts["recent"], *facts["history"].values()]
    try:
        float(facts["best_validation"])
    except ValueError:
        return False
    return (
        all(type(facts[name]) is int and 0 <= facts[name] < _MOST_STEPS for name in counts)
        and 0 < facts["rate_factor"] <= 1
        and set(facts["history"]) == set(template.history)
        and all(isinstance(record, list) and all(map(_is_number, record)) for record in records)
    )


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < _MOST_STEPS)


def _read(path: str | os.PathLike[str], run_id: str) -> tuple[dict, dict[str, np.ndarray]]:
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        why = " ".join(str(error).split())
        raise DirectGPError(
            f"{path} is not a readable checkpoint ({why}); remove it to start afresh"
        ) from None
    if "directgp-checkpoint" not in metadata:
        raise DirectGPError(f"{path} is not a directgp checkpoint; use another file")
    try:
        facts = json.loads(metadata["directgp-checkpoint"])
        version = facts["version"]
        owner = facts["run_id"]
        if type(version) is not int:
            raise TypeError("the format is a number")
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DirectGPError(f"{path} is not a directgp checkpoint; use another file") from None
    if version != _VERSION:
        raise DirectGPError(
            f"{path} was written by another version of directgp (format {version}, "
            f"this one reads {_VERSION}); remove it to start afresh"
        )
    if owner != run_id:
        raise DirectGPError(
            f"checkpoint {path} is from a run with other data or settings; resume with the same, "
            "or remove it to start afresh"
        )
    return facts, arrays
