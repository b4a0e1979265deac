"""Calls of `fit` and its relatives with flat options, for tests that vary one at a time."""

from typing import Any

from directgp.fitting.flat_options import MODEL_OPTIONS, specs_from_options


def flat(**options: Any) -> dict[str, Any]:
    """Arguments of `fit`: model options in `model`, training options in `training`.

    A `model` that is given stays as it is; a `beta_grid` is a β to choose.
    """
    if "beta_grid" in options:
        options["beta"] = options.pop("beta_grid")
    return specs_from_options(options)


def flat_model(**options: Any) -> dict[str, Any]:
    """Arguments of `fit_collapsed`: model options in `model`, the others as they are."""
    own = {name: options.pop(name) for name in MODEL_OPTIONS if name in options}
    return {"model": specs_from_options(own)["model"]} | options
