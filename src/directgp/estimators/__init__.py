"""scikit-learn estimators: `GPRegressor` and `GPClassifier`.

`base` turns their parameters into a call of `fit`; `inputs`, `rows` and `stream` prepare what they
train on. `TableTransformer` is the encoder of tables alone.
"""

from directgp.estimators.classifier import GPClassifier
from directgp.estimators.regressor import GPRegressor
from directgp.estimators.table_transformer import TableTransformer

__all__ = ["GPClassifier", "GPRegressor", "TableTransformer"]
