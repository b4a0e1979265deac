"""Save and load: one file, safetensors with JSON in its header; never pickle.

`parts` turns a tree of directgp's own classes into JSON and arrays, and back; `model_file` writes
and reads the file, and says in one line what is wrong with one it cannot read.
"""

from typing import TYPE_CHECKING, Any

from directgp.persistence.errors import (
    DamagedModelFile,
    ForeignFile,
    ModelFileError,
    NewerModelFile,
    NotSavable,
)

if TYPE_CHECKING:
    from directgp.persistence.classes import savable
    from directgp.persistence.container import SCHEMA
    from directgp.persistence.model_file import Loaded, load, save

__all__ = [
    "SCHEMA",
    "DamagedModelFile",
    "ForeignFile",
    "Loaded",
    "ModelFileError",
    "NewerModelFile",
    "NotSavable",
    "load",
    "savable",
    "save",
]


def __getattr__(name: str) -> Any:
    """Loaded when first used: what a file says of itself (`inspection`) is read without JAX."""
    if name == "SCHEMA":
        from directgp.persistence import container as home
    elif name == "savable":
        from directgp.persistence import classes as home
    elif name in ("Loaded", "load", "save"):
        from directgp.persistence import model_file as home
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(home, name)
