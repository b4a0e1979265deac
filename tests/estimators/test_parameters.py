"""Parameters of estimators that are written down twice, so that they are known without JAX."""

from directgp import GPClassifier, GPRegressor, Training


def test_steps_are_those_of_training():
    usual = Training()
    for made in (GPRegressor(), GPClassifier()):
        assert (made.tolerance, made.window) == (usual.tolerance, usual.window)
        assert (made.batch_size, made.precision) == (usual.batch_size, usual.precision)
