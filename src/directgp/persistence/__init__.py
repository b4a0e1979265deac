"""Save and load: one file, safetensors with JSON in its header; never pickle.

`parts` turns a tree of directgp's own classes into JSON and arrays, and back; `model_file` writes
and reads the file, and says in one line what is wrong with one it cannot read.
"""

from directgp.persistence.classes import savable
from directgp.persistence.errors import (
    DamagedModelFile,
    ForeignFile,
    ModelFileError,
    NewerModelFile,
    NotSavable,
)
from directgp.persistence.model_file import SCHEMA, Loaded, load, save

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
