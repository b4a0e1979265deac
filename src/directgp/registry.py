"""One registry for each kind of part: names in code, on the command line and in experiments."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from directgp.errors import DirectGPError

C = TypeVar("C", bound=Callable[..., Any])


class Registry:
    """Maps names to the parts that registered themselves under them.

    >>> class Shape: ...
    >>> shapes = Registry("shape", Shape)
    >>> @shapes.register("circle")
    ... class Circle(Shape): ...
    >>> type(shapes.create("circle")).__name__
    'Circle'
    >>> shapes.create("blob")
    Traceback (most recent call last):
    directgp.errors.DirectGPError: unknown shape 'blob'; choose one of: circle
    >>> shapes.resolve(3.14)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: shape must be a name (circle) or of class Shape, got a float
    """

    def __init__(
        self, kind: str, base: type | None = None, adapt: Callable[[Any], Any] = lambda part: part
    ):
        """What the parts are called, the class they all are of, and what makes one of its like."""
        self.kind, self.base, self._adapt = kind, base, adapt
        self._parts: dict[str, Callable[..., Any]] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator: make the part available under `name`."""

        def add(part: C) -> C:
            if name in self._parts:
                raise DirectGPError(f"{self.kind} {name!r} is registered already")
            self._parts[name] = part
            return part

        return add

    def lookup(self, name: str) -> Any:
        """The part itself (a class or a factory)."""
        if name not in self:
            raise DirectGPError(f"unknown {self.kind} {name!r}; choose one of: {', '.join(self)}")
        return self._parts[name]

    def create(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Build the part called `name`."""
        return self.lookup(name)(*args, **kwargs)

    def resolve(self, part: Any) -> Any:
        """A name becomes a part with default settings; a part stays what it is."""
        if isinstance(part, str):
            return self.create(part)
        adapted = self._adapt(part)
        if self.base is not None and not isinstance(adapted, self.base):
            given = f"a {type(part).__name__}"
            if isinstance(part, type):
                given = f"the class {part.__name__}; write {part.__name__}()"
            raise DirectGPError(
                f"{self.kind} must be a name ({', '.join(self)}) or of class "
                f"{self.base.__name__}, got {given}"
            )
        return adapted

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._parts))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._parts
