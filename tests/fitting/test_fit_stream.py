"""Training and predicting on tables that are never all in memory."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import directgp as dg
from directgp.tables import TableError, read_table
from tests.flat import flat

REPOSITORY = Path(__file__).resolve().parents[1]
ROWS = 4_000
OPTIONS = {"num_inducing": 30, "batch_size": 180, "epochs": 6}


def _signal(x, kind):
    return np.sin(2 * x) + 0.8 * (kind == "v")


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    x, kind = rng.uniform(-3, 3, ROWS), np.array(["u", "v", "w"])[rng.integers(3, size=ROWS)]
    f = _signal(x, kind)
    return {
        "x": x,
        "kind": kind,
        "noisy": f + 0.2 * rng.normal(size=ROWS),
        "class": np.array(["no", "yes"])[(f + 0.2 * rng.normal(size=ROWS) > 0.5).astype(int)],
        "count": rng.poisson(np.exp(f)),
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory, columns):
    path = tmp_path_factory.mktemp("fit") / "table.parquet"
    order = np.argsort(columns["x"])  # the worst order a file can have
    table = pa.table({name: values[order] for name, values in columns.items()})
    parquet.write_table(table, path, row_group_size=300)
    return path


OTHERS = ("noisy", "class", "count")


def _drop(target):
    return [name for name in OTHERS if name != target]


@pytest.fixture(scope="module")
def streamed(path):
    return dg.fit_stream(path, "noisy", **flat(drop=_drop("noisy"), beta=1.0, **OPTIONS))


def test_streaming_learns_as_much_as_memory_holds(streamed, columns):
    rng = np.random.default_rng(1)
    x, kind = rng.uniform(-3, 3, 500), np.array(["u", "v", "w"])[rng.integers(3, size=500)]
    y = _signal(x, kind) + 0.2 * rng.normal(size=500)
    X = streamed.encoder.encode({"x": x, "kind": kind}).X
    inputs = streamed.encoder.encode({name: columns[name] for name in ("x", "kind")}).X
    with jax.enable_x64(False):
        memory = dg.fit(inputs, columns["noisy"], **flat(validation=0.1, beta=1.0, **OPTIONS))
    scores = [-f.predict(X).log_prob(y).mean() for f in (streamed.fitted, memory)]
    truth = 0.5 * np.log(2 * np.pi * 0.04) + 0.5
    assert scores[0] == pytest.approx(scores[1], abs=0.05)
    assert scores[0] < truth + 0.1
    assert streamed.fitted.history["step"][-1] == 120
    assert streamed.encoder.names[0] == "x"
    assert len(streamed.encoder.names) == 3


def test_the_same_seed_gives_the_same_model(streamed, path):
    again = dg.fit_stream(path, "noisy", **flat(drop=_drop("noisy"), beta=1.0, **OPTIONS))
    X = streamed.fitted.inputs.shift + np.linspace(-1, 1, 5)[:, None]
    for part in ("mean", "variance"):
        np.testing.assert_array_equal(
            getattr(again.fitted.predict(X), part), getattr(streamed.fitted.predict(X), part)
        )


def test_an_interrupted_stream_resumes_to_the_same_model(streamed, path, tmp_path, monkeypatch):
    import directgp.training.resumable as stages

    def interrupted(*arguments, after_chunk, **options):
        def stop_after_two(state):
            after_chunk(state)
            if state.step >= 40:
                raise KeyboardInterrupt

        return original(*arguments, after_chunk=stop_after_two, **options)

    original = stages.run
    fit = {"drop": _drop("noisy"), "beta": 1.0, "checkpoint": tmp_path / "saved", **OPTIONS}
    with monkeypatch.context() as patch:
        patch.setattr(stages, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dg.fit_stream(path, "noisy", **flat(**fit))
    assert list((tmp_path / "saved").iterdir())
    resumed = dg.fit_stream(path, "noisy", **flat(**fit))
    X = streamed.fitted.inputs.shift + np.linspace(-1, 1, 5)[:, None]
    np.testing.assert_array_equal(resumed.fitted.predict(X).mean, streamed.fitted.predict(X).mean)
    assert not (tmp_path / "saved").exists()


def test_beta_is_chosen_on_held_out_rows(path):
    found = dg.fit_stream(
        path, "noisy", **flat(drop=_drop("noisy"), beta_grid=[0.1, 1.0, 1000.0], **OPTIONS)
    )
    assert found.fitted.beta in (0.1, 1.0)
    assert found.fitted.beta_curve[1000.0] > found.fitted.beta_curve[found.fitted.beta]


@pytest.mark.parametrize(
    ("target", "likelihood"),
    [
        ("class", "Bernoulli"),
        pytest.param("count", "Negative", marks=pytest.mark.slow),
    ],
)
def test_classes_and_counts(path, columns, target, likelihood, tmp_path):
    found = dg.fit_stream(path, target, **flat(drop=_drop(target), beta=1.0, **OPTIONS))
    assert type(found.fitted.gp.likelihood).__name__.startswith(likelihood)
    dg.predict_stream(
        found.fitted, found.encoder, path, tmp_path / "p.parquet", target=found.target, keep=[]
    )
    predicted = read_table(tmp_path / "p.parquet")
    truth = read_table(path)[target]
    if target == "class":
        assert predicted.column_names == ["predicted", "p(no)", "p(yes)"]
        right = np.array(predicted["predicted"].to_pylist()) == np.array(truth.to_pylist())
        assert right.mean() > 0.8
    else:
        correlation = np.corrcoef(predicted["mean"].to_numpy(), truth.to_numpy())[0, 1]
        assert correlation > 0.5


def test_predictions_of_a_stream_are_those_of_its_rows(streamed, path, columns, tmp_path):
    count = dg.predict_stream(
        streamed.fitted, streamed.encoder, path, tmp_path / "p.csv", keep=["noisy"]
    )
    assert count == ROWS
    table, found = read_table(path), read_table(tmp_path / "p.csv")
    expected = streamed.fitted.predict(streamed.encoder.encode(table).X)
    assert found["noisy"].to_pylist() == table["noisy"].to_pylist()
    np.testing.assert_allclose(found["mean"], expected.mean, rtol=1e-12)
    lower, upper = expected.interval(0.9)
    np.testing.assert_allclose(found["q0.05"], lower, rtol=1e-9)
    np.testing.assert_allclose(found["q0.95"], upper, rtol=1e-9)
    pieces = []
    dg.predict_stream(streamed.fitted, streamed.encoder, table, pieces.append)
    np.testing.assert_array_equal(
        np.concatenate([piece["mean"] for piece in pieces]), expected.mean
    )


def test_a_failed_prediction_leaves_no_file(streamed, path, tmp_path):
    with pytest.raises(TableError, match="no column 'nosy' to keep; did you mean 'noisy'"):
        dg.predict_stream(
            streamed.fitted, streamed.encoder, path, tmp_path / "p.csv", keep=["nosy"]
        )
    with pytest.raises(TableError, match="lacks 'kind'"):
        dg.predict_stream(streamed.fitted, streamed.encoder, {"x": [1.0]}, tmp_path / "p.csv")
    assert os.listdir(tmp_path) == []


def test_options_that_the_stream_decides(path):
    with pytest.raises(ValueError, match="chooses its own validation"):
        dg.fit_stream(path, "noisy", validation=0.1)
    with pytest.raises(ValueError, match=r"max_steps=9 is about full batches, .*; give epochs"):
        dg.fit_stream(path, "noisy", training=dg.Training(max_steps=9))
    with pytest.raises(TableError, match="there is no file"):
        dg.fit_stream("absent.parquet")


_TWO_SIZES = """
import gc, resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as parquet
import directgp as dg

rng = np.random.default_rng(0)
group = pa.table({f"x{i}": rng.normal(size=5000) for i in range(20)})

for rows in (150_000, 750_000):
    path = f"{sys.argv[1]}/{rows}.parquet"
    with parquet.ParquetWriter(path, group.schema) as writer:
        for _ in range(rows // 5000):
            writer.write_table(group)
    model = dg.Sparse(num_inducing=10, mean_field=True)
    dg.fit_stream(path, model=model, beta=1.0, training=dg.Training(epochs=1))
    gc.collect()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    command = [sys.executable, "-c", _TWO_SIZES, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    small, large = (int(line) / 1024 for line in done.stdout.split())
    assert large - small < 80  # MiB; the additional rows are 96 MiB, held but once


@pytest.mark.parametrize("size,words", [(None, "never all in memory; use 1000"), (0, "got 0")])
def test_a_batch_of_nothing_or_of_all_rows_is_refused_before_reading(size, words):
    with pytest.raises(ValueError, match=f"batch_size must be a whole number ≥ 1, .*{words}"):
        dg.fit_stream("nowhere.parquet", training=dg.Training(batch_size=size))
