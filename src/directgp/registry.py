"""One registry for each kind of part: names in code, on the command line and in experiments."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

C = TypeVar("C", bound=Callable[..., Any])


class Registry:
    """Maps names to the parts that registered themselves under them.

    >>> shapes = Registry("shape")
    >>> @shapes.register("circle")
    ... class Circle: ...
    >>> type(shapes.create("circle")).__name__
    'Circle'
    >>> shapes.create("blob")
    Traceback (most recent call last):
    ValueError: unknown shape 'blob'; choose one of: circle
    """

    def __init__(self, kind: str):
        self.kind = kind
        self._parts: dict[str, Callable[..., Any]] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator: make the part available under `name`."""

        def add(part: C) -> C:
            if name in self._parts:
                raise ValueError(f"{self.kind} {name!r} is registered already")
            self._parts[name] = part
            return part

        return add

    def lookup(self, name: str) -> Callable[..., Any]:
        """The part itself (a class or a factory)."""
        if name not in self:
            raise ValueError(f"unknown {self.kind} {name!r}; choose one of: {', '.join(self)}")
        return self._parts[name]

    def create(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Build the part called `name`."""
        return self.lookup(name)(*args, **kwargs)

    def resolve(self, part: Any) -> Any:
        """A name becomes a part with default settings; a part stays what it is."""
        return self.create(part) if isinstance(part, str) else part

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._parts))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._parts
