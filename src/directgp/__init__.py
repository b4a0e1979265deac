"""directgp: Gaussian processes trained for the loss their predictions will be judged by.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

Where each term lives:

=================  ==========================================================
`objective`        the equation itself
`losses`           loss: Gibbs(score) or Direct(score); log, square, CRPS, pinball, robust
`likelihoods`      p(y | f)
`expectations`     how integrals over f are done
`divergences`      divergence(q ‖ p)
`models`           q at x: sparse, deep, decoupled, multi-output GPs, collapsed forms
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

from typing import TYPE_CHECKING, Any

from directgp.version import __version__ as __version__

if TYPE_CHECKING:
    from directgp import plots as plots
    from directgp.api import *  # noqa: F403
    from directgp.api import __all__ as __all__


def __getattr__(name: str) -> Any:
    import importlib

    # Dunder names other than __all__ are asked for by Python itself, before anything is used.
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'directgp' has no attribute {name!r}")
    if name == "plots":  # not in the API module: everything else works without matplotlib
        return importlib.import_module("directgp.plots")
    # Importing it also makes every folder an attribute: directgp.losses, …
    public = importlib.import_module("directgp.api")
    found = getattr(public, name, globals().get(name))
    if found is None:
        raise AttributeError(f"module 'directgp' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__"), "plots"})
