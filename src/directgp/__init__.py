"""directgp: Gaussian processes trained for the loss their predictions will be judged by.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

Where each term lives:

=================  ==========================================================
`objective`        the equation itself
`losses`           loss: Gibbs(score) or Direct(score); log, square, CRPS, pinball, robust
`likelihoods`      p(y | f)
`expectations`     how integrals over f are done
`divergences`      divergence(q ‖ p)
`models`           q at x: sparse, deep, decoupled, multi-output GPs
`collapsed`        objectives whose optimal q(u) is solved for
`exact`            exact GPs: regression, Laplace, EP, loss-calibrated EM
`kernels`          what "similar inputs" means
`training`         how it is minimised, and how β is chosen
`predictive`       what comes back, in the user's units; `metrics` scores it
`decisions`        costs, the actions they call for, loss-calibrated inference
`estimators`       the same for scikit-learn users
`persistence`      one file for a model, read back to the bit
`report`, `cli`    one page that says how good a model is; the command line
=================  ==========================================================

Names are imported from `directgp.api` when they are first used, so that ``directgp --help`` does
not wait for JAX; so is `directgp.plots`, which needs the extra ``directgp[plots]``.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from directgp.version import __version__ as __version__

if TYPE_CHECKING:
    from directgp import plots as plots
    from directgp.api import *  # noqa: F403
    from directgp.api import __all__ as __all__


def _homes() -> dict[str, tuple[str, str | None]]:
    """Where each public name lives: (module, name in it), read off the imports in `directgp.api`.

    So one name can be imported without all others, and they are listed once.
    """
    import ast
    import importlib.util

    spec = importlib.util.find_spec("directgp.api")
    source = spec.loader.get_source(spec.name) if spec and spec.loader else None  # pyright: ignore[reportAttributeAccessIssue]
    homes: dict[str, tuple[str, str | None]] = {}
    for statement in ast.parse(source or "").body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            homes |= {a.asname or a.name: (statement.module, a.name) for a in statement.names}
        elif isinstance(statement, ast.Import):
            homes |= {a.asname: (a.name, None) for a in statement.names if a.asname}
    return homes


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Imports make hundreds of thousands of objects that stay; looking for cycles among them again
    and again takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def __getattr__(name: str) -> Any:
    import importlib
    import importlib.util

    # Dunder names other than __all__ are asked for by Python itself, before anything is used.
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'directgp' has no attribute {name!r}")
    if "_homes_of_names" not in globals():
        globals()["_homes_of_names"] = _homes()
    home = globals()["_homes_of_names"].get(name)
    with _without_garbage_collection():
        if home is not None:
            module = importlib.import_module(home[0])
            found = module if home[1] is None else getattr(module, home[1])
        elif name != "__all__" and importlib.util.find_spec(f"directgp.{name}"):
            found = importlib.import_module(f"directgp.{name}")  # a folder: directgp.losses, …
        else:
            # __all__, and every name where the source of `api` cannot be read.
            found = getattr(importlib.import_module("directgp.api"), name, None)
    if found is None:
        raise AttributeError(f"module 'directgp' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__"), "plots"})
