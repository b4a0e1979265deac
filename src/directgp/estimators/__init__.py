"""scikit-learn estimators: `GPRegressor` and `GPClassifier`.

`base` turns their parameters into a call of `fit`; `inputs` and `rows` prepare the training data,
`stream` implements `partial_fit`. `TableTransformer` is the table encoder as a transformer.
"""

from directgp.estimators.classifier import GPClassifier
from directgp.estimators.regressor import GPRegressor
from directgp.estimators.table_transformer import TableTransformer

__all__ = ["GPClassifier", "GPRegressor", "TableTransformer"]
