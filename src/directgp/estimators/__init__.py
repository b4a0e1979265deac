"""scikit-learn estimators: `GPRegressor` and `GPClassifier`.

`base` turns their parameters into a call of `fit`; `inputs` and `rows` prepare the training data,
`stream` implements `partial_fit`. `TableTransformer` is the table encoder as a transformer.
"""

from directgp.linalg.lean_imports import lean_imports

with lean_imports():
    import sklearn.base  # noqa: F401  (before the modules below import it)

from directgp.estimators.classifier import GPClassifier
from directgp.estimators.regressor import GPRegressor
from directgp.estimators.table_transformer import TableTransformer

__all__ = ["GPClassifier", "GPRegressor", "TableTransformer"]
