"""The attack on machine code: random sizes, layouts, values, maps and flags, beside JAX."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import directgp as dg
from directgp.linalg import native
from directgp.linalg.moments import MOMENTS
from directgp.linalg.triangular import lower_times
from tests.attack.result import Result, Tell, silent

RIGHT, FOUND = "right", "NaN found by JAX"
_SIZES = (1, 1, 2, 3, 7, 16, 33, 64)
_KERNELS = (dg.RBF, dg.Matern12, dg.Matern32, dg.Matern52)
_FLAGS: dict[str, Callable[[], Any]] = {
    "plain": nullcontext,
    "disable_jit": lambda: jax.disable_jit(),
    "debug_nans": lambda: jax.debug_nans(True),
    "debug_infs": lambda: jax.debug_infs(True),
    "enable_checks": lambda: jax.enable_checks(True),
    "checking_leaks": lambda: jax.checking_leaks(),
}
_WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "called": lambda f: f,
    "jit": jax.jit,
    "derivative": lambda f: jax.jit(jax.grad(lambda *a: jnp.sum(jnp.sin(f(*a))))),
    "vmap": lambda f: jax.jit(lambda *a: jax.vmap(f)(*(jnp.stack([each, each]) for each in a))),
}
Arrays = tuple[np.ndarray, ...]


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Compute `count` random products, kernels and moments both ways, under flags in turn."""
    result = Result()
    with jax.enable_x64(True):
        if not native.in_use():
            tell("machine code is not in use here; all is computed in JAX")
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            way = list(_WAYS)[number % len(_WAYS)]
            flag = list(_FLAGS)[number // len(_WAYS) % len(_FLAGS)]
            with result.timed():
                name, outcome = _outcome(rng, way, flag)
            said = outcome if outcome in (RIGHT, FOUND) else f"number {number}, {name}: {outcome}"
            result.add(f"{way}, {flag}", said, (RIGHT, FOUND), tell)
    return result


def _outcome(rng: np.random.Generator, way: str, flag: str) -> tuple[str, str]:
    spoilt = rng.random() < 0.15
    name, function, arrays = _problem(rng, spoilt)
    given = [jnp.asarray(_laid_out(rng, array)) for array in arrays]
    mapped = _WAYS[way](function)
    with native.machine_code(False):
        known = np.asarray(mapped(*given))
    try:
        with _FLAGS[flag]():
            found = np.asarray(mapped(*given))
    except FloatingPointError:
        looks = flag.startswith("debug_") and not np.isfinite(known).all()
        return name, FOUND if looks else "an error without a cause"
    except Exception as error:
        return name, f"{type(error).__name__}: {error}"
    infinite = any(np.isinf(array).any() for array in arrays)
    single = given[0].dtype == jnp.float32
    said = _compared(found, known, single, infinite)
    if said.startswith("off by") and single:
        # JAX rounds too: numbers of double precision tell which of the two is off.
        with native.machine_code(False):
            exact = np.asarray(mapped(*(each.astype(jnp.float64) for each in given)))
        said = _compared(found, exact.astype(np.float32), single, infinite)
    return name, said


def _compared(found: np.ndarray, known: np.ndarray, single: bool, infinite: bool) -> str:
    if found.shape != known.shape or found.dtype != known.dtype:
        return f"{found.shape} {found.dtype} instead of {known.shape} {known.dtype}"
    # Zeros that are known are left out, so that 0 · NaN need not be NaN; no NaN may be added, but
    # for a point at infinity, at which distances are ∞ − ∞ in an order that is each way's own.
    if (np.isnan(found) & np.isfinite(known)).any() and not infinite:
        return "a NaN that JAX does not have"
    if not np.isfinite(known).all() and np.isfinite(found).all():
        return "a NaN was lost"
    both = np.isfinite(known) & np.isfinite(found)
    size = np.abs(known[both]).max(initial=1.0)
    worst = np.abs(found[both] - known[both]).max(initial=0.0) / size
    return RIGHT if worst < (1e-3 if single else 1e-8) else f"off by {worst:.1e}"


def _problem(
    rng: np.random.Generator, spoilt: bool
) -> tuple[str, Callable[..., jax.Array], Arrays]:
    M, N, D = (int(rng.choice(_SIZES)) for _ in range(3))
    dtype = np.float32 if rng.random() < 0.3 else np.float64

    def numbers(*shape: int) -> np.ndarray:
        values = rng.normal(size=shape)
        if spoilt and rng.random() < 0.7:
            values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf])
        return values.astype(dtype)

    kind = int(rng.integers(3))
    if kind == 0:
        return f"product {M} {N}", lower_times, (np.tril(numbers(M, M)), numbers(M, N))
    if kind == 1:
        kernel = _KERNELS[int(rng.integers(len(_KERNELS)))](1.3, np.full(D, 0.8))
        name = f"{type(kernel).__name__} {N} {M} {D}"
        return name, lambda X, Z: kernel.matrix(X, Z), (numbers(N, D), numbers(M, D))
    form = list(MOMENTS)[int(rng.integers(len(MOMENTS)))]
    root = rng.normal(size=(M, M))
    K = (root @ root.T + np.eye(M)).astype(dtype)
    factor, moments_of = MOMENTS[form]

    def moments(cross: Any, K: Any, m: Any, S: Any) -> jax.Array:
        return jnp.concatenate([jnp.ravel(part) for part in moments_of(factor(K, m, S), cross)])

    lower = np.tril(rng.normal(size=(1, M, M))).astype(dtype)
    mean = rng.normal(size=(1, M)).astype(dtype)
    return f"moments {form} {M} {N}", moments, (numbers(M, N), K, mean, lower)


def _laid_out(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """The same numbers elsewhere in memory: unaligned, columns first, with gaps, backwards."""
    way = int(rng.integers(5))
    if way == 0:
        room = np.zeros(values.nbytes + 128, np.uint8)
        start = -room.ctypes.data % 64 + int(rng.choice([1, 4, 8, 24]))
        copy = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
        copy[...] = values
        return copy
    if way == 1:
        return np.asfortranarray(values)
    if way == 2:
        return np.repeat(values, 2, axis=-1)[..., ::2]
    return values[::-1].copy()[::-1] if way == 3 else values
