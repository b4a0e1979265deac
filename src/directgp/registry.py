"""Registries of kernels, losses, …: their names in code, on the command line and in experiments."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from directgp.errors import DirectGPError, nearest

C = TypeVar("C", bound=Callable[..., Any])


class Registry:
    """Maps names to registered parts (classes or factories).

    >>> class Shape: ...
    >>> shapes = Registry("shape", Shape)
    >>> @shapes.register("circle")
    ... class Circle(Shape): ...
    >>> type(shapes.create("circle")).__name__
    'Circle'
    >>> shapes.create("blob")
    Traceback (most recent call last):
    directgp.errors.DirectGPError: unknown shape 'blob'; choose one of: circle
    >>> @shapes.register("ring")
    ... class Ring(Shape):
    ...     def __init__(self, width=1.0):
    ...         self.width = width
    >>> shapes.resolve("ring:width=0.5").width, shapes.resolve({"name": "ring", "width": 2}).width
    (0.5, 2)
    >>> shapes.alias("disc", "circle")
    >>> type(shapes.create("disc")).__name__, list(shapes)
    ('Circle', ['circle', 'ring'])
    >>> shapes.create("cirle")
    Traceback (most recent call last):
    directgp.errors.DirectGPError: unknown shape 'cirle'; did you mean 'circle'? choose one of: ...
    >>> shapes.resolve("circle:width=2")
    Traceback (most recent call last):
    directgp.errors.DirectGPError: shape 'circle' has no option 'width'; it has none
    >>> shapes.resolve(3.14)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: shape must be a name (circle, ring) or of class Shape, got ...
    """

    def __init__(
        self, kind: str, base: type | None = None, adapt: Callable[[Any], Any] = lambda part: part
    ):
        """Make an empty registry.

        Args:
            kind: the word for a part in error messages.
            base: the base class of all parts; None for any class.
            adapt: converts other arguments of `resolve` to parts.
        """
        self.kind, self.base, self._adapt = kind, base, adapt
        self._parts: dict[str, Callable[..., Any]] = {}
        self._aliases: dict[str, str] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Decorator that registers a class or factory under `name`."""

        def add(part: C) -> C:
            if name in self._parts:
                raise DirectGPError(f"{self.kind} {name!r} is registered already")
            self._parts[name] = part
            return part

        return add

    def alias(self, name: str, meaning: str) -> None:
        """Register a second name for a part, which is not listed.

        Args:
            name: the alias.
            meaning: the registered name.
        """
        if name in self or meaning not in self._parts:
            raise DirectGPError(f"{name!r} cannot stand for the {self.kind} {meaning!r}")
        self._aliases[name] = meaning

    def full_name(self, text: str) -> str:
        """Replace an alias by the registered name; options after a colon are kept."""
        name, colon, options = text.partition(":")
        return f"{self._aliases.get(name, name)}{colon}{options}"

    def lookup(self, name: str) -> Any:
        """The part itself (a class or a factory)."""
        if name not in self:
            hint = nearest(name, [*self, *self._aliases])
            raise DirectGPError(
                f"unknown {self.kind} {name!r}; {hint}{' ' * bool(hint)}choose one of: "
                f"{', '.join(self)}"
            )
        return self._parts[self._aliases.get(name, name)]

    def create(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Build the part called `name`."""
        return self.lookup(name)(*args, **kwargs)

    def resolve(self, part: Any) -> Any:
        """Convert a specification to a part; a part is returned unchanged.

        A name creates the part with default options; "name:option=value,option=value", or a mapping
        with "name" and options, sets options.
        """
        if isinstance(part, str):
            name, colon, text = part.partition(":")
            return self._create_with(name, _options(text, part) if colon else {})
        if isinstance(part, Mapping) and "name" in part:
            options = {key: value for key, value in part.items() if key != "name"}
            return self._create_with(part["name"], options)
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

    def _create_with(self, name: str, options: Mapping[str, Any]) -> Any:
        factory = self.lookup(name)
        known = [] if not options else list(inspect.signature(factory).parameters)
        for option in options:
            if option not in known:
                hint = nearest(option, known)
                raise DirectGPError(
                    f"{self.kind} {name!r} has no option {option!r}; {hint}{' ' * bool(hint)}it "
                    f"has {', '.join(known) or 'none'}"
                )
        return factory(**options)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._parts))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._parts or name in self._aliases)


def _options(text: str, whole: str) -> dict[str, Any]:
    """Parse "samples=10,smoothing=1e-4"; a value that is not JSON is a string."""
    found = {}
    for item in text.split(","):
        option, equals, value = item.partition("=")
        if not (option and equals and value):
            raise DirectGPError(
                f"{whole!r} cannot be read; write name:option=value, several separated by commas"
            )
        try:
            found[option] = json.loads(value)
        except ValueError:
            found[option] = value
    return found
