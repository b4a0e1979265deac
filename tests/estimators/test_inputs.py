"""Estimators read tables as they are: text, categories, truth, dates and gaps."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from directgp import GPClassifier, GPRegressor, TableEncoder, TableTransformer
from directgp.estimators.inputs import is_mixed
from directgp.persistence import DamagedModelFile, load, save
from directgp.tables import TargetValues

QUICK = {"beta": 1.0, "num_inducing": 10, "max_steps": 30}
ROWS = 80


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    made = pd.DataFrame(
        {
            "size": rng.normal(size=ROWS),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], ROWS)),
            "open": rng.random(ROWS) < 0.5,
            "when": pd.date_range("2024-01-01", periods=ROWS, freq="7h"),
            "colour": rng.choice(["red", "blue"], ROWS),
            "note": [f"no. {k}" for k in range(ROWS)],
        }
    )
    made.loc[3, "size"] = np.nan
    made.loc[5, "kind"] = None
    return made


@pytest.fixture(scope="module")
def y(frame):
    return frame["size"].fillna(0).to_numpy() + 2.0 * (frame["kind"] == "a").to_numpy()


@pytest.fixture(scope="module")
def model(frame, y):
    return GPRegressor(**QUICK).fit(frame, y)


def test_a_frame_is_coded_as_the_command_line_codes_it(model, frame, y):
    encoder = TableEncoder.fit(frame, y=TargetValues.of(y))
    assert model.encoder_ == encoder
    levels = [f"kind={level}" for level in frame["kind"].value_counts().index[1:]]
    assert encoder.names == (
        *("size", *levels, "open"),
        *(f"when {part}" for part in ("years", "week sin", "week cos", "day sin", "day cos")),
        *("colour=red", "size missing", "kind missing"),
    )
    assert model.n_features_in_ == 6
    assert model.get_feature_names_in() == list(frame.columns)
    plain = GPRegressor(**QUICK).fit(encoder.encode(frame).X, y)
    np.testing.assert_array_equal(plain.predict(encoder.encode(frame).X), model.predict(frame))
    assert np.corrcoef(model.predict(frame), y)[0, 1] > 0.5


def test_all_libraries_and_orders_of_columns_give_the_same(model, frame):
    expected = model.predict(frame)
    for other in (
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        frame[frame.columns[::-1]],
        frame.drop(columns="note"),
        frame.set_index(np.arange(ROWS) + 7),
        frame.to_numpy(),
    ):
        np.testing.assert_array_equal(model.predict(other), expected)
    polars = GPRegressor(**QUICK).fit(pl.from_pandas(frame), model.predict(frame))
    assert polars.feature_names_in_.tolist() == list(frame.columns)


def test_unseen_levels_and_new_gaps_are_predicted(model, frame):
    new = frame.head(3).astype({"kind": object})
    new["kind"] = ["z", None, "a"]
    new["colour"] = [None, "green", "red"]
    new["open"] = pd.array([None, True, False], dtype="boolean")
    assert np.isfinite(model.predict(new)).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda f: f.rename(columns={"size": "sise"}),
            "lacks the training columns 'size'.*mean 'sise'",
        ),
        (lambda f: f.drop(columns="open"), "lacks the training columns 'open'"),
        (lambda f: f.assign(extra=1), "'extra', which are not in the training data; drop them"),
        (lambda f: f.to_numpy()[:, :3], "X has 3 columns but the model was trained on 6"),
        (lambda f: f.assign(size="big"), "column 'size' holds numbers, but row 1 has 'big'"),
        (lambda f: f.head(0), "no rows"),
        (lambda f: f.to_numpy()[0], "2 dimensions"),
    ],
)
def test_other_columns_are_refused_in_one_line(model, frame, change, says):
    with pytest.raises(ValueError, match=says) as caught:
        model.predict(change(frame))
    assert "\n" not in str(caught.value)


def test_a_file_and_a_pickle_keep_the_encoder(model, frame, tmp_path):
    model.save(tmp_path / "m.dgp")
    for again in (GPRegressor.load(tmp_path / "m.dgp"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        assert again.encoder_ == model.encoder_
        assert again.feature_names_in_.tolist() == list(frame.columns)
        assert again.n_features_in_ == 6


@pytest.mark.parametrize(
    "change",
    [
        {"encoder": "{}"},
        {"encoder": 3},
        {"columns": ["size"]},
        {"columns": 7},
        {"encoder": TableEncoder.fit({"x": [1.0, 2.0]}).to_json()},
    ],
)
def test_a_file_whose_encoder_is_not_the_models_is_refused(model, tmp_path, change):
    model.save(tmp_path / "m.dgp")
    loaded = load(tmp_path / "m.dgp")
    extras = {"GPRegressor": loaded.extras["GPRegressor"] | change}
    save(loaded.fitted, tmp_path / "m.dgp", extras=extras, features=loaded.features)
    with pytest.raises(DamagedModelFile, match="is inconsistent"):
        GPRegressor.load(tmp_path / "m.dgp")


def test_numbers_with_gaps_get_the_median_and_an_indicator(y, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 2))
    X[4, 1] = np.nan
    model = GPRegressor(**QUICK).fit(X, y)
    assert model.encoder_.names == ("x0", "x1", "x1 missing")
    assert model.n_features_in_ == 2
    by_hand = [[np.median(X[:, 0]), 0.5]]
    np.testing.assert_array_equal(model.predict([[np.nan, 0.5]]), model.predict(by_hand))
    model.save(tmp_path / "m.dgp")
    np.testing.assert_array_equal(GPRegressor.load(tmp_path / "m.dgp").predict(X), model.predict(X))
    frame = pd.DataFrame(X, columns=["a", "b"]).astype({"b": "Float64"})
    np.testing.assert_array_equal(
        GPRegressor(**QUICK).fit(frame, y).predict(frame), model.predict(X)
    )


def test_infinite_values_are_refused(y):
    with pytest.raises(ValueError, match="infinity"):
        GPRegressor(**QUICK).fit(np.full((ROWS, 1), np.inf), y)


def test_classes_weights_and_streams_of_frames(frame):
    shops = frame.assign(shop=[f"s{k % 30}" for k in range(ROWS)])
    labels = np.where(np.arange(ROWS) % 30 < 15, "cheap", "dear")
    weight = np.ones(ROWS)
    weight[7] = 0.0
    few = {"max_steps": 20, "num_inducing": 10, "beta": 1.0}
    model = GPClassifier(**few).fit(shops, labels, weight)
    without = GPClassifier(**few).fit(shops.drop(index=7), np.delete(labels, 7))
    np.testing.assert_array_equal(model.predict_proba(shops), without.predict_proba(shops))
    model.partial_fit(shops.head(9), labels[:9])
    assert model.predict_proba(shops).shape == (ROWS, 2)


def test_columns_of_many_levels_are_cross_fitted_for_training():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 60, 300)
    frame = pd.DataFrame({"shop": [f"s{k}" for k in level], "x": rng.normal(size=300)})
    y = np.linspace(-2, 2, 60)[level] + 0.1 * rng.normal(size=300)
    transformer = TableTransformer()
    trained = transformer.fit_transform(frame, y)
    assert transformer.get_feature_names_out().tolist() == ["shop target mean", "x"]
    later = transformer.transform(frame)
    assert (trained[:, 0] != later[:, 0]).any()
    model = GPRegressor(**QUICK).fit(frame, y)
    assert {*np.round(model._memory.rows.X[:, 0], 9)} == {*np.round(trained[:, 0], 9)}
    assert np.sqrt(np.mean((model.predict(frame) - y) ** 2)) < 0.5


@parametrize_with_checks([TableTransformer(), TableTransformer(view="trees")])
def test_scikit_learn_checks_of_the_transformer(estimator, check):
    """A check raises AssertionError where the transformer fails it."""
    check(estimator)


def test_the_transformer_serves_other_models(frame, y):
    for model in (
        make_pipeline(TableTransformer(), HistGradientBoostingRegressor(max_iter=5)),
        make_pipeline(TableTransformer(view="trees"), HistGradientBoostingRegressor(max_iter=5)),
    ):
        assert np.isfinite(cross_val_score(model, frame, y, cv=3)).all()
    trees = TableTransformer(view="trees").set_output(transform="pandas").fit(frame)
    coded = trees.transform(frame)
    assert coded.columns[trees.categorical_].tolist() == ["kind", "colour"]
    assert np.isnan(coded["size"][3]) and np.isnan(coded["kind"][5])


def test_the_transformer_takes_numbers_for_labels_and_few_levels():
    frame = pd.DataFrame({"zip": [1, 2, 3, 1, 2, 3], "x": range(6)})
    zips = TableTransformer(categories=["zip"]).fit(frame)
    assert zips.get_feature_names_out().tolist() == ["zip=2", "zip=3", "x"]
    means = TableTransformer(categories=["zip"], max_levels=2).fit(frame, list("aabbcc"))
    assert means.get_feature_names_out().tolist() == ["zip share of b", "zip share of c", "x"]
    with pytest.raises(ValueError, match="no column 'zap'; did you mean 'zip'"):
        TableTransformer(categories=["zap"]).fit(frame)
    for wrong in ({"view": "forest"}, {"task": "ranking"}):
        with pytest.raises(ValueError, match="must be one of"):
            TableTransformer(**wrong).fit(frame, range(6))


def test_what_is_a_table_and_what_are_numbers():
    numbers = [
        np.zeros((2, 2)),
        np.array([["1", "2.5"]]),
        np.array([[1, None]], dtype=object),
        pd.DataFrame({"a": [1, 2], "b": [True, False]}),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"a": [1.0, None], "b": [True, False]}),
    ]
    tables = [
        [["x", 1.0]],
        pd.DataFrame({"a": ["x"]}),
        pd.DataFrame({"a": [pd.Timestamp(0)]}),
        pl.DataFrame({"a": ["x"]}),
        pa.table({"a": [1.0]}),
    ]
    assert not any(map(is_mixed, numbers))
    assert all(map(is_mixed, tables))


def test_cells_of_several_kinds_are_labels():
    frame = pd.DataFrame({"odd": [1, "a", None, 2.5, "a", 1] * 4, "x": np.arange(24.0)})
    transformer = TableTransformer().fit(frame)
    assert transformer.get_feature_names_out().tolist() == [
        "odd=a",
        "odd=2.5",
        "x",
        "odd missing",
    ]
