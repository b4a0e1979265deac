"""directgp: Gaussian processes trained for the loss by which their predictions are evaluated.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

Where each term lives:

=================  ==========================================================
`objective`        the equation itself
`losses`           loss: Gibbs(score) or Direct(score); log, square, CRPS, pinball, robust
`likelihoods`      p(y | f)
`expectations`     methods for integrals over f
`divergences`      divergence(q ‖ p)
`models`           q(f) at x: sparse, deep, decoupled, multi-output GPs
`collapsed`        objectives whose optimal q(u) is solved for
`exact`            exact GPs: regression, Laplace, EP, loss-calibrated EM
`kernels`          covariance functions
`training`         the optimisation, and the choice of β
`predictive`       predictive distributions; `metrics` scores them
`decisions`        costs, Bayes actions, loss-calibrated inference
`estimators`       the interface of scikit-learn
`persistence`      model files
`report`, `cli`    a one-page report of a model; the command line
=================  ==========================================================

Names are imported from `directgp.api` when they are first used, so that ``directgp --help`` does
not import JAX; so is `directgp.plots`, which needs the extra ``directgp[plots]``.
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
    """The module of each public name, and its name there, parsed from the imports of
    `directgp.api`.

    So one name can be imported without importing all others.
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
    """Garbage collection takes a fifth of the time of an import, and finds nothing."""
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

    # Python looks up dunder names other than __all__ itself.
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
