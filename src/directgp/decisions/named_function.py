"""Cost functions by name: "module:function" or "file.py:function" in a cost file or a model file.

A name is imported only if the user allows it. Giving a cost file (`read_cost`, `--cost`) allows
the import; loading a model file does not, unless the user repeats the name (`cost_from(...,
trust=...)`, `--trust-function`). `sys.path` is not changed.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from directgp.errors import DirectGPError

_LONGEST = 200
_ADVICE = 'install it, or name its file: function = "my_costs.py:my_cost"'


class UntrustedFunction(DirectGPError):
    """A cost function that has not been imported was called."""


class NamedFunction:
    """The name of a cost function that has not been imported; calling it is refused.

    >>> NamedFunction("my_module:my_cost")(np.ones(1), np.zeros(1))
    Traceback (most recent call last):
    directgp.decisions.named_function.UntrustedFunction: the cost function 'my_module:my_cost' is \
only a name here and was not imported; give the cost again (--cost FILE, or cost= in \
Python), or allow this import by --trust-function my_module:my_cost (trust= of cost_from)
    """

    def __init__(self, name: Any):
        split_name(name)
        self.name: str = name

    def __call__(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        raise UntrustedFunction(
            f"the cost function {self.name!r} is only a name here and was not "
            "imported; give the cost again (--cost FILE, or cost= in Python), or allow this "
            f"import by --trust-function {self.name} (trust= of cost_from)"
        )

    def __repr__(self) -> str:
        return f"NamedFunction({self.name!r})"


def split_name(name: Any) -> tuple[str, str]:
    """Split "module:function"; any other form is an error.

    >>> split_name("my_costs.py:late")
    ('my_costs.py', 'late')
    """
    place, _, function = name.rpartition(":") if isinstance(name, str) else ("", "", "")
    short = isinstance(name, str) and len(name) <= _LONGEST and name.isprintable()
    named = place.endswith(".py") or all(part.isidentifier() for part in place.split("."))
    if not (short and place and named and function.isidentifier()):
        raise DirectGPError(
            f"function must be 'module:function' or 'file.py:function', got {str(name)[:60]!r}"
        )
    return place, function


def imported(name: Any, folder: Path = Path()) -> Callable[..., Any]:
    """Import a function by name.

    Args:
        name: "module:function" of an installed module, or "file.py:function" of a Python file.
        folder: the folder of relative file names, that of the cost file.

    >>> imported("numpy:hypot")
    <ufunc 'hypot'>
    """
    place, function = split_name(name)
    try:
        module = (
            _from_file(str((folder / place).resolve()))
            if place.endswith(".py")
            else importlib.import_module(place)
        )
    except Exception as error:  # any error in the user's module
        why = " ".join(str(error).split()) or type(error).__name__
        raise DirectGPError(
            f"cannot import {place!r} for the cost function: {why}; {_ADVICE}"
        ) from None
    found = vars(module).get(function)
    if not callable(found):
        raise DirectGPError(f"the module {place!r} has no function {function!r}")
    return found


@lru_cache(maxsize=16)
def _from_file(path: str) -> ModuleType:
    """Import a module from a file, once per process and without `sys.path`."""
    name = f"directgp_cost_function_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # needed by dataclasses in the module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
