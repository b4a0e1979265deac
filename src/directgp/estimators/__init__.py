"""scikit-learn estimators: `GPRegressor` and `GPClassifier`.

`base` turns their parameters into a call of `fit`; `inputs` and `rows` prepare the training data,
`stream` implements `partial_fit`. `TableTransformer` is the table encoder as a transformer.

An estimator is made without JAX: `base`, `parameters`, `calibrated`, `regressor` and `classifier`
import what fits and predicts inside their methods.
"""

from typing import TYPE_CHECKING, Any

from directgp.linalg.lean_imports import lean_imports

with lean_imports():
    import sklearn.base  # noqa: F401  (before the modules below import it)

if TYPE_CHECKING:
    from directgp.estimators.classifier import GPClassifier
    from directgp.estimators.regressor import GPRegressor
    from directgp.estimators.table_transformer import TableTransformer

__all__ = ["GPClassifier", "GPRegressor", "TableTransformer"]


def __getattr__(name: str) -> Any:
    """Each estimator is loaded when it is first used."""
    if name == "GPClassifier":
        from directgp.estimators import classifier as home
    elif name == "GPRegressor":
        from directgp.estimators import regressor as home
    elif name == "TableTransformer":
        from directgp.estimators import table_transformer as home
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(home, name)
