"""What tests check of annotations at run time (tests/checked_types.py)."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Literal, Protocol, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int, PyTree, TypeCheckError

from directgp.linalg.triangular import inverse_cholesky
from directgp.training.loop import Settings
from tests.checked_types import checked


class Sized(Protocol):
    def size(self) -> int: ...


class Options(TypedDict):
    width: int


@checked
def product(x: Float[Array, "N D"], w: Float[Array, "D M"], *more: int) -> Float[Array, "N M"]:
    return (x @ w)[: sum(more) or None]


@checked
def described(
    name: "str | None", kind: Literal["a", "b"] = "a", *, sizes: dict[str, int] | None = None,
    call: Callable[..., int] = len, **options: bool,
) -> Iterator[str]:  # fmt: skip
    yield f"{name} {kind} {sizes} {call} {options}"


X, W = jnp.ones((3, 2)), jnp.ones((2, 4))


def test_what_fits_is_let_through():
    assert product(X, W).shape == (3, 4)
    assert jax.jit(product)(X, w=W).shape == (3, 4)
    assert len(list(described(None, "b", sizes={"N": 3}, call=len, quick=True))) == 1
    assert product.__name__ == "product" and "x" in product.__annotations__


@pytest.mark.parametrize(
    "call,said",
    [
        (lambda: product(X, jnp.ones((3, 4))), "product: argument 1 .*\n(.*\n)*.*D=2"),
        (lambda: product(X, w=W.T), "product: w is"),
        (lambda: product(X.astype(int), W), "argument 0"),
        (lambda: product(np.asarray(X), W), "argument 0"),
        (lambda: product(X[0], W), "argument 0"),
        (lambda: product(X, W, 1.0), "further argument"),
        (lambda: product(X, W, 2), "the result"),
        (lambda: described(3), "argument 0"),
        (lambda: described("x", "c"), "argument 1"),
        (lambda: described("x", sizes={"N": 3.0}), "sizes"),
        (lambda: described("x", call=3), "call"),
        (lambda: described("x", quick=1), "quick"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_name(call, said):
    with pytest.raises(TypeCheckError, match=said):
        call()


def test_arguments_that_are_missing_are_python_s_own_error():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'w'"):
        product(X)  # pyright: ignore


def test_inner_functions_and_trees_are_checked():
    def outer(kind):
        @checked
        def inner(tree: PyTree[kind], size: Int[Array, ""] | int) -> None: ...

        return inner

    outer(int)([1, 2], 3)
    outer(str)(["a"], jnp.asarray(3))
    for call in (lambda: outer(int)([1.0], 3), lambda: outer(str)([1], 3)):
        with pytest.raises(TypeCheckError, match="inner: argument 0"):
            call()


def test_dataclasses_protocols_and_typed_dictionaries_are_checked():
    @checked
    @dataclasses.dataclass
    class Pair:
        rows: Float[Array, " N"]
        others: Float[Array, " N"]

    Pair(X[:, 0], others=X[:, 1])
    with pytest.raises(TypeCheckError, match="others"):
        Pair(X[:, 0], others=W[0])

    @checked
    def of_other_types(options: Options, limit: "NotImported" = None) -> None: ...  # pyright: ignore

    of_other_types({"width": 3})
    with pytest.raises(TypeCheckError):
        of_other_types([3])  # pyright: ignore


def test_the_package_is_checked():
    with pytest.raises(TypeCheckError, match="inverse_cholesky: argument 0"):
        inverse_cholesky(jnp.ones((2, 3)))
    with pytest.raises(TypeCheckError, match="steps"):
        Settings(steps="many", batch_size=None)  # pyright: ignore
