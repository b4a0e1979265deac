"""What estimators say about mistyped parameters, unknown values and wrong targets."""

import re
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import directgp as dg
from directgp import DirectGPError, GPClassifier, GPRegressor

X = np.linspace(0, 1, 12)[:, None]
Y = np.sin(6 * X[:, 0])
LABELS = np.where(X[:, 0] > 0.5, "high", "low")


def refused(call) -> str:
    with pytest.raises(DirectGPError) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said and "np." not in said
    return said


@pytest.mark.parametrize(
    ("make", "y", "said"),
    [
        (lambda: GPRegressor(los="crps"), None, "did you mean 'loss'?"),
        (lambda: GPClassifier(class_wieght=None), None, "did you mean 'class_weight'?"),
        (lambda: GPRegressor(loss="cprs"), Y, "did you mean 'crps'"),
        (lambda: GPRegressor(kernel="matern53"), Y, "did you mean 'matern52'"),
        (lambda: GPRegressor(likelihood="gausian"), Y, "did you mean 'gaussian"),
        (lambda: GPRegressor(layers="two"), Y, "layers must be 'auto' or a whole number"),
        (lambda: GPRegressor(layers=2.0), Y, "layers must be 'auto' or a whole number"),
        (lambda: GPClassifier(layers="two"), LABELS, "layers must be 'auto' or a whole number"),
        (lambda: GPClassifier(loss="square"), LABELS, "for numbers and counts, not for classes"),
        (lambda: GPClassifier(loss="pinball"), LABELS, "for numbers and counts, not for classes"),
        (lambda: GPClassifier(), np.full(12, "a"), "got one class: 'a'"),
    ],
)
def test_a_mistyped_parameter_or_value_is_refused_with_a_suggestion(make, y, said):
    assert said in refused(lambda: make().fit(X, y))


def test_an_unknown_parameter_is_a_type_error_and_copies_still_work():
    with pytest.raises(TypeError):
        GPRegressor(los="crps")
    model = GPRegressor(loss="crps", beta=0.5)
    assert clone(model).get_params() == deepcopy(model).get_params() == model.get_params()


def test_text_that_is_no_number_is_named_with_its_row():
    y = [*map(str, Y[:-1]), "68.0k"]
    said = refused(lambda: GPRegressor().fit(X, y))
    assert "'68.0k' at y[11]" in said and "GPClassifier" in said


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_target_that_is_not_finite_is_named_with_its_row(value, name):
    y = Y.copy()
    y[4] = value
    assert f"contains {name}: y[4]" in refused(lambda: GPRegressor().fit(X, y))


def test_an_infinite_input_is_named_with_its_row_and_column():
    table = pd.DataFrame({"age": Y, "income": Y})
    table.loc[7, "income"] = np.inf
    said = refused(lambda: GPRegressor().fit(table, Y))
    assert "inf at X[7, 1] (column 'income')" in said
    assert "X[7, 1]." in refused(lambda: GPRegressor().fit(table.to_numpy(), Y))


def test_a_file_that_is_not_there_is_said_in_one_line(tmp_path):
    path = tmp_path / "nope.dgp"
    for load in (dg.load, GPRegressor.load):
        assert refused(lambda load=load: load(path)) == f"there is no file {path}; check the path"
        with pytest.raises(FileNotFoundError):
            load(path)


def test_a_table_in_the_place_of_a_model_is_said_to_be_one(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("a,b\n1,2\n")
    assert "are the arguments swapped?" in refused(lambda: dg.load(path))


def test_a_missing_column_is_not_explained_by_columns_that_training_knows():
    table = pd.DataFrame({"size": ["s", "m", "l"] * 4, "sizes": Y, "rooms": Y})
    model = GPRegressor(beta=1.0, max_steps=5, num_inducing=4).fit(table, Y)
    said = refused(lambda: model.predict(table.drop(columns="size")))
    assert "'size'" in said and not re.search("did you mean", said)
    assert "did you mean 'sise'?" in refused(
        lambda: model.predict(table.rename(columns={"size": "sise"}))
    )


def test_the_elbo_of_a_plain_loss_stays_the_elbo():
    assert type(GPRegressor(loss="log", objective="elbo")._loss()) is dg.Gibbs
    assert type(GPRegressor(loss="log")._loss()) is dg.Direct
    assert type(GPRegressor(loss="elbo")._loss()) is dg.Gibbs
