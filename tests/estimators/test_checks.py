"""scikit-learn's own checks, all of them, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from directgp import GPClassifier, GPRegressor

# Small fits: the checks ask how an estimator behaves, not how well it learns.
QUICK = {"beta": 1.0, "num_inducing": 10, "max_steps": 100}


@parametrize_with_checks([GPRegressor(**QUICK), GPClassifier(**QUICK)])
def test_scikit_learn_checks(estimator, check):
    """A check raises AssertionError where the estimator fails it."""
    check(estimator)
