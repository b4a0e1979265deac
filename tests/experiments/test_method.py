"""A method is a record: what `fit` is called with, and rows that are cut as the papers say."""

from pathlib import Path

import equinox as eqx
import numpy as np
import pytest

from directgp.divergences import PerLayer, Renyi
from directgp.expectations import MonteCarlo
from directgp.fitting.fitted import FittedGP
from directgp.fitting.specs import Deep, FixedHyperparameters, Sparse, Training
from directgp.kernels import RBF
from directgp.losses import BetaLoss, Gibbs
from directgp.training.initialise import typical_distance
from experiments import method
from experiments.datasets import DataError, Rows, missing_files, read, rows_of, splits


@pytest.fixture
def rows(rng):
    X, y = rng.standard_normal((3000, 2)) * [1.0, 9.0], rng.standard_normal(3000)
    return Rows(X, y, X[:5], y[:5], X[:7], y[:7])


@pytest.fixture
def calls(monkeypatch):
    """What the trainers are called with, instead of calling them."""
    seen = []
    done = object.__new__(FittedGP)
    object.__setattr__(done, "long_table", None)
    for name in ("fit", "fit_collapsed", "fit_outputs"):
        monkeypatch.setattr(
            method, name, lambda X, y, name=name, **options: seen.append((name, options)) or done
        )
    return seen


def test_a_record_becomes_a_call(rows, calls):
    record = {
        "kind": "fit", "data": "pol", "split": "x", "size": 9, "seed": 4,
        "loss": {"average": "gibbs", "score": "robust-beta", "power": 1.1},
        "expectation": {"name": "monte-carlo", "samples": 7},
        "divergence": [{"name": "renyi", "alpha": 0.5}, "kl"],
        "kernel": {"name": "rbf", "isotropic": True}, "beta": "n", "steps": 600, "num_inducing": 8,
    }  # fmt: skip
    method.train(record, rows)
    ((name, options),) = calls
    assert name == "fit" and options["seed"] == 4
    assert options["model"].num_inducing == 8
    assert isinstance(options["loss"], Gibbs) and isinstance(options["loss"].score, BetaLoss)
    assert float(options["loss"].score.power) == 1.1
    assert options["expectation"] == MonteCarlo(7) and options["beta"] == 3000.0
    assert isinstance(options["divergence"], PerLayer)
    assert isinstance(options["divergence"].parts[0], Renyi)
    scaled = (rows.X - rows.X.mean(axis=0)) / rows.X.std(axis=0)
    expected = RBF(1.0, typical_distance(scaled, 4))
    assert eqx.tree_equal(options["model"].kernel, expected, rtol=1e-12)
    # 600 steps of 1000 out of 3000 rows are 200 epochs.
    assert options["training"].batch_size == 1000 and options["training"].epochs == 200.0
    assert options["validation"][0] is rows.X_valid
    assert not {"kind", "data", "split", "size", "steps", "batch"} & set(options)


def test_a_batch_of_several_outputs_counts_whole_rows(rows, calls):
    """500 rows of 3 outputs are 500 rows to `fit_outputs`: a batch of 100 is a part of them."""
    wide = rows._replace(X=rows.X[:500], y=np.ones((500, 3)))
    method.train({"trainer": "outputs", "batch": 100, "steps": 30, "loss": "elbo"}, wide)
    ((name, options),) = calls
    assert name == "fit_outputs"
    assert options["training"].batch_size == 100 and options["training"].epochs == 6.0


def test_a_full_batch_counts_steps(rows, calls):
    method.train({"steps": 50, "batch": "full", "loss": "elbo"}, rows, validation=(1, 2))
    ((_, options),) = calls
    assert options["training"] == Training(batch_size=None, max_steps=50)
    assert options["validation"] == (1, 2)


def test_what_a_record_shares_is_left_out_where_it_has_no_effect(rows, calls):
    deep = {"deep": "samples", "num_sites": 5, "kernel": "rbf", "loss": "elbo", "beta": 1}
    for layers in (1, 2):
        method.train(deep | {"layers": layers}, rows)
    method.train(deep | {"layers": 2, "start": {"loss": "direct-log"}}, rows)
    (_, one), (_, two), (_, first), (_, after) = calls
    assert one["model"] == Sparse(kernel="rbf")
    assert two["model"] == first["model"] == Deep(kernel="rbf", join="samples", num_sites=5)
    assert isinstance(after["model"], FittedGP) and after["loss"] == "elbo"
    method.train({"loss": "elbo", "quadrature": "qr1"} | deep | {"layers": 2}, rows)
    assert calls[-1][1]["model"] == two["model"]


def test_beta_is_chosen_from_the_grid_of_a_record(rows, calls):
    for beta in ("auto", 0.5):
        method.train({"loss": "elbo", "beta": beta, "beta_grid": [1.0, 0.1]}, rows)
    assert [options["beta"] for _, options in calls] == [[1.0, 0.1], 0.5]


def test_an_option_that_does_not_exist_is_named(rows, calls):
    with pytest.raises(
        ValueError, match=r"there is no option 'widht'; did you mean 'width'\? choose among "
    ):
        method.train({"loss": "elbo", "widht": 3}, rows)


def test_a_donor_is_trained_first_on_the_same_rows(rows, calls):
    record = {
        "trainer": "collapsed", "loss": "direct-square", "beta": "auto", "steps": 9, "seed": 1,
        "hyperparameters": {"loss": "elbo", "beta": 1},
    }  # fmt: skip
    method.train(record, rows)
    (_, first), (name, second) = calls
    assert name == "fit_collapsed" and first["objective"] == "elbo" and first["beta"] == 1
    assert first["model"] == Sparse() and first["max_steps"] == 9 and first["seed"] == 1
    assert second["objective"] == "direct-square"
    assert isinstance(second["model"], FixedHyperparameters)


def test_splits_do_not_overlap_and_depend_on_the_seed_alone():
    for name in splits:
        if name == "airline":  # needs more rows than a test should have
            continue
        record = {"data": "wave", "split": name, "size": 100, "seed": 2}
        first, again = (rows_of(record, Path()) for _ in range(2))
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)), name
        assert len(first.y) == 100
        parts = [set(first.X[:, 0]), set(first.X_valid[:, 0]), set(first.X_test[:, 0])]
        assert sum(map(len, parts)) == len(set.union(*parts)), name
        other = rows_of(record | {"seed": 3}, Path())
        assert not np.array_equal(first.y, other.y)


def test_regression_is_scaled_by_its_training_rows():
    rows = rows_of({"data": "wave", "split": "dlm-regression", "seed": 0}, Path())
    assert [len(rows.y), len(rows.y_valid), len(rows.y_test)] == [268, 32, 100]
    assert rows.y.mean() == pytest.approx(0, abs=1e-12) and rows.y.std() == pytest.approx(1)
    assert abs(rows.y_test.mean()) > 1e-6


def test_a_dataset_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no .*pol\.parquet; give --data"):
        read("pol", tmp_path)
    records = [{"data": "pol"}, {"data": "wave"}, {"kind": "simulation"}]
    assert missing_files(records, tmp_path) == ["pol.parquet"]


def test_targets_and_inputs_are_told_apart(tmp_path):
    from directgp.tables import write_table

    columns = {"x": [1.0, 2.0], "traj": [1, 1], "y0": [3.0, 4.0], "y1": [5.0, 6.0]}
    write_table(tmp_path / "robot.parquet", columns)
    X, y = read("robot", tmp_path, "y1")
    assert X.tolist() == [[1.0], [2.0]] and y.tolist() == [5.0, 6.0]
    assert read("robot", tmp_path, "y*")[1].shape == (2, 2)
    with pytest.raises(DataError, match="it has y0, y1"):
        read("robot", tmp_path)
