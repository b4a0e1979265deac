"""Import scikit-learn without pandas and `scipy.stats`, which it loads but hardly ever uses.

They take a second, more than scikit-learn itself. While its modules are imported, stand-ins are
found in their place. A stand-in loads the real package when something of it is first used, so that
nothing but the time changes. When the block ends the stand-ins are no longer found: later imports
of these packages, by whomever, are ordinary ones.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from types import ModuleType
from typing import Any

_DEFERRED = "pandas", "scipy.stats"
_lock = RLock()


@contextmanager
def lean_imports() -> Iterator[None]:
    """In the block, what this thread imports of pandas and `scipy.stats` waits until it is used.

    Packages that are loaded already are left as they are.

    >>> with lean_imports():
    ...     from sklearn.base import clone
    """
    with _lock:
        placed = [_StandIn(name) for name in _DEFERRED if name not in sys.modules]
        for each in placed:
            sys.modules[each.__name__] = each
        try:
            yield
        finally:
            for each in placed:
                each._withdraw()


class _StandIn(ModuleType):
    """A package that is loaded when something of it is used; another thread loads it at once."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._thread = get_ident()

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self and get_ident() == self._thread:
            if name == "__path__":  # asked for by every `from package import name`
                raise AttributeError(name)
            if not name.startswith("__"):
                return _Later(self.__name__, name)
        self._withdraw()
        return getattr(importlib.import_module(self.__name__), name)

    def _withdraw(self) -> None:
        """Let the package itself be found from now on."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


class _Later:
    """A function or an object of a package, looked up when it is first used."""

    def __init__(self, package: str, name: str) -> None:
        self._place = package, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found(), name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._found()(*given, **named)

    def _found(self) -> Any:
        package, name = self._place
        return getattr(importlib.import_module(package), name)
