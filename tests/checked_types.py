"""Checks annotated types and shapes at run time: cheaper than a generated function for each.

jaxtyping's import hook decorates every function and dataclass of a package. Its own decorator
writes and compiles two functions for each decorated one, for inner functions at every call of the
outer one, and checks arguments twice; that was a fifth of the suite's time. `check_types` has the
hook apply `checked` instead, which looks at the annotations when a function is first called.
"""

import contextlib
import dataclasses
import functools
import io
import typing
from collections.abc import Callable, Sequence
from types import CodeType, UnionType
from typing import Any, NamedTuple, TypeVar

import jaxtyping
from beartype.door import is_bearable

F = TypeVar("F", bound=Callable[..., Any])

_shapes = jaxtyping.jaxtyped
"""Before `check_types` puts `checked` in its place."""


def check_types(packages: Sequence[str]) -> None:
    """Has arguments and results checked in modules that are imported from now on.

    Args:
        packages: by name, with all that is below them.
    """
    jaxtyping.jaxtyped = checked  # what the hook writes above every function
    jaxtyping.install_import_hook(list(packages), None)


def checked(decorated: Any = None, **_: Any) -> Any:
    """The decorator of a function or of a dataclass; other classes are returned as they are."""
    if decorated is None:
        return checked
    if not isinstance(decorated, type):
        return _checked_function(decorated)
    is_done = hasattr(decorated.__init__, "_is_checked")
    if dataclasses.is_dataclass(decorated) and not is_done and not _is_exempt(decorated):
        decorated.__init__ = _checked_function(decorated.__init__)
    return decorated


def _is_exempt(decorated: Any) -> bool:
    return getattr(decorated, "__no_type_check__", False)


class _Plan(NamedTuple):
    """What the arguments and the result of a function have to be instances of."""

    positional: tuple[Any, ...]
    further: Any
    named: dict[str, Any]
    keywords: Any
    result: Any
    has_shapes: bool


_NOTHING = _Plan((), object, {}, object, object, False)


class _Bearable:
    """Stands for a hint of `typing` where a class is expected: beartype checks it."""

    def __init__(self, hint: Any) -> None:
        self.hint = hint

    def __instancecheck__(self, value: Any) -> bool:
        return is_bearable(value, self.hint)

    def __repr__(self) -> str:
        return repr(self.hint)


_plans: dict[int, tuple[CodeType, dict[str, Any], _Plan]] = {}
"""By the code of a function: inner functions are made anew, their code is not."""


def _plan(function: Callable[..., Any]) -> _Plan:
    code, annotations = function.__code__, function.__annotations__
    if (known := _plans.get(id(code))) and known[1] == annotations:
        return known[2]
    hints = {name: _resolved(hint, function) for name, hint in annotations.items()}
    classes = {name: _checkable(hint) for name, hint in hints.items()}
    first, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names, rest = code.co_varnames, code.co_varnames[last:]
    has_further, has_keywords = bool(code.co_flags & 0x04), bool(code.co_flags & 0x08)
    plan = _Plan(
        positional=tuple(classes.get(name, object) for name in names[:first]),
        further=classes.get(rest[0], object) if has_further else object,
        named={name: classes.get(name, object) for name in names[:last]},
        keywords=classes.get(rest[int(has_further)], object) if has_keywords else object,
        result=classes.get("return", object),
        has_shapes=any(_has_shapes(hint) for hint in hints.values()),
    )
    _plans[id(code)] = (code, annotations, plan)
    return plan


def _resolved(hint: Any, function: Callable[..., Any]) -> Any:
    """A hint without strings; `Any` where a name in one is known to type checkers alone."""

    def stand_in(value: Any) -> None: ...

    stand_in.__annotations__ = {"value": hint}
    try:
        return typing.get_type_hints(stand_in, function.__globals__, include_extras=True)["value"]
    except (NameError, AttributeError):
        return Any


def _checkable(hint: Any) -> Any:
    """What `isinstance` takes in place of a hint."""
    if hint is Any or isinstance(hint, typing.ParamSpecArgs | typing.ParamSpecKwargs):
        return object
    if typing.get_origin(hint) in (typing.Union, UnionType):
        return tuple(_checkable(part) for part in typing.get_args(hint))
    is_virtual = getattr(hint, "_is_protocol", False) or typing.is_typeddict(hint)
    # `typing.BinaryIO` and its relatives are classes that open files are no instances of.
    if isinstance(hint, type) and not is_virtual and hint.__module__ != "typing":
        return hint
    return _Bearable(hint)


def _has_shapes(hint: Any) -> bool:
    if isinstance(hint, type) and hint.__module__.split(".")[0] == "jaxtyping":
        return True
    return any(_has_shapes(part) for part in typing.get_args(hint) if not isinstance(part, str))


def _checked_function(function: F) -> F:
    known: _Plan | None = None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        nonlocal known
        if known is None:
            known = _NOTHING if _is_exempt(function) or _is_exempt(call) else _plan(function)
        if known.has_shapes:
            with _shapes("context"):  # the sizes of N, D, ... in this call
                return _called(function, known, args, kwargs)
        return _called(function, known, args, kwargs)

    call._is_checked = True  # pyright: ignore
    return typing.cast(F, call)


def _called(
    function: Callable[..., Any], plan: _Plan, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    __tracebackhide__ = True
    for position, (value, hint) in enumerate(zip(args, plan.positional, strict=False)):
        if not isinstance(value, hint):
            raise _error(function, f"argument {position}", value, hint)
    for value in args[len(plan.positional) :]:
        if not isinstance(value, plan.further):
            raise _error(function, "a further argument", value, plan.further)
    for name, value in kwargs.items():
        if not isinstance(value, hint := plan.named.get(name, plan.keywords)):
            raise _error(function, name, value, hint)
    result = function(*args, **kwargs)
    if not isinstance(result, plan.result):
        raise _error(function, "the result", result, plan.result)
    return result


def _error(function: Callable[..., Any], what: str, value: Any, hint: Any) -> Exception:
    bound = io.StringIO()
    with contextlib.redirect_stdout(bound), contextlib.suppress(Exception):
        jaxtyping.print_bindings()
    where = f"{function.__module__}.{function.__qualname__}"
    return jaxtyping.TypeCheckError(
        f"{where}: {what} is {value!r:.300}, not {hint}\n{bound.getvalue()}"
    )
