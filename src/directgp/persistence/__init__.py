"""Save and load models: one safetensors file with JSON in its header, without pickle.

`model_file` writes and reads the file, `container` has its format, `parts` converts objects of
directgp's classes to JSON and arrays and back. Files are not trusted: `field_types` and the
`*_checks` modules validate everything before it is used. `table_model` and `inspection` are for the
files of ``directgp fit``.
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
    """Import on first use, so that `inspection` can read metadata without importing JAX."""
    if name == "SCHEMA":
        from directgp.persistence import container as home
    elif name == "savable":
        from directgp.persistence import classes as home
    elif name in ("Loaded", "load", "save"):
        from directgp.persistence import model_file as home
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(home, name)
