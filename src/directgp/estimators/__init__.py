"""scikit-learn estimators: `GPRegressor` and `GPClassifier`.

`base` turns their parameters into a call of `fit`; `rows` and `stream` prepare what they train on.
"""

from directgp.estimators.classifier import GPClassifier
from directgp.estimators.regressor import GPRegressor

__all__ = ["GPClassifier", "GPRegressor"]
