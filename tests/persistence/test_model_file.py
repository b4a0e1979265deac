"""Model files: exact to the bit, all or nothing, and one clear line for a file that is not one."""

import ast
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

import directgp as dg
from directgp.divergences import WhitenedGaussian
from directgp.expectations import expectations
from directgp.kernels import OnColumns, Scaled, kernels
from directgp.likelihoods import likelihoods
from directgp.losses import losses
from directgp.models import ConstantMean, SparseGP
from directgp.parameters import frozen
from directgp.persistence import (
    SCHEMA,
    DamagedModelFile,
    ForeignFile,
    ModelFileError,
    NewerModelFile,
    NotSavable,
    classes,
    model_file,
    savable,
)
from directgp.tables import Standardiser
from directgp.training.loop import GP

D, M = 2, 5
X_NEW = np.random.default_rng(3).normal(size=(7, D))


def make_fitted(kernel=None, likelihood=None, mean_field=False, hold=False, **changes):
    """A fitted model without the fitting: every number is drawn."""
    rng = np.random.default_rng(0)
    kernel, likelihood = kernel or dg.RBF(1.5, [0.7, 1.3]), likelihood or dg.Gaussian(0.3)
    latents = likelihood.num_latents
    scale = np.exp(rng.normal(size=(latents, M)))
    if not mean_field:
        scale = 0.1 * np.tril(rng.normal(size=(latents, M, M)), -1) + scale[..., None] * np.eye(M)
    mean = rng.normal(size=(latents, M))
    q = WhitenedGaussian.from_moments(jnp.asarray(mean), jnp.asarray(scale))
    Z = jnp.asarray(rng.normal(size=(M, D)))
    model = SparseGP(kernel, Z, q, ConstantMean([0.3] * latents))
    fitted = dg.FittedGP(
        GP(frozen(model) if hold else model, likelihood),
        Standardiser(np.array([1.0, -2.0]), np.array([0.5, 3.0])),
        Standardiser(np.array([10.0]), np.array([4.0])),
        dg.Objective(dg.Direct(dg.LogLoss()), dg.KL(), expectations.create("gauss-hermite")),
        0.5,
        {2.0: 1.5, 0.5: 1.25, 0.01: np.inf},
        {"step": [50, 100], "objective": [1.0, 0.5], "validation": []},
        "converged",
        1.25,
    )
    return replace(fitted, **changes)


def assert_same(first: dg.FittedGP, second: dg.FittedGP):
    """The same tree with the same numbers, in and around the model."""
    for name in ("gp", "objective", "inputs", "targets"):
        left, right = getattr(first, name), getattr(second, name)
        assert jax.tree.structure(left) == jax.tree.structure(right)
        for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
            assert type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)
    for name in ("beta", "beta_curve", "history", "reason", "seconds"):
        assert getattr(first, name) == getattr(second, name)


def assert_same_predictions(first: dg.FittedGP, second: dg.FittedGP):
    left, right = first.predict(X_NEW), second.predict(X_NEW)
    np.testing.assert_array_equal(left.mean, right.mean)
    np.testing.assert_array_equal(left.variance, right.variance)
    np.testing.assert_array_equal(left.log_prob(1), right.log_prob(1))


COMPOSED = {
    "sum": dg.RBF(2.0, [1.0, 2.0]) + dg.Linear([1.0, 2.0], 0.5),
    "product": dg.RBF() * dg.Matern12(),
    "columns": OnColumns(dg.Matern32(), (1,)),
    "scaled": Scaled(dg.Matern52() + dg.RBF() * dg.Linear(), 3.0),
}


@pytest.mark.parametrize("name", [*kernels, *COMPOSED])
def test_every_kernel_comes_back_and_predicts_the_same_bits(name, tmp_path):
    kernel = COMPOSED[name] if name in COMPOSED else kernels.create(name)
    fitted = make_fitted(kernel)
    dg.save(fitted, tmp_path / "m")
    loaded = dg.load(tmp_path / "m").fitted
    assert_same(loaded, fitted)
    assert_same_predictions(loaded, fitted)


@pytest.mark.parametrize("name", list(likelihoods))
def test_every_likelihood_comes_back_and_predicts_the_same_bits(name, tmp_path):
    fitted = make_fitted(likelihood=likelihoods.create(name))
    dg.save(fitted, tmp_path / "m")
    loaded = dg.load(tmp_path / "m").fitted
    assert_same(loaded, fitted)
    assert_same_predictions(loaded, fitted)


@pytest.mark.parametrize("options", [{"mean_field": True}, {"hold": True}], ids=str)
def test_every_form_of_the_posterior_comes_back(options, tmp_path):
    fitted = make_fitted(**options)
    dg.save(fitted, tmp_path / "m")
    assert_same(dg.load(tmp_path / "m").fitted, fitted)


@pytest.mark.parametrize("name", [*losses, *expectations])
def test_every_loss_and_expectation_comes_back(name, tmp_path):
    objective = make_fitted().objective
    part = {"loss": losses.create(name)} if name in losses else {}
    other = {"expectation": expectations.create(name)} if name in expectations else {}
    fitted = make_fitted(objective=replace(objective, **part, **other))
    dg.save(fitted, tmp_path / "m")
    assert_same(dg.load(tmp_path / "m").fitted, fitted)


@pytest.mark.float32_default
def test_a_real_fit_in_the_users_own_precision(tmp_path):
    X = np.linspace(0, 1, 30)[:, None]
    fitted = dg.fit(
        X,
        np.sin(6 * X[:, 0]),
        beta=1.0,
        model=dg.Sparse(num_inducing=8),
        training=dg.Training(max_steps=50),
    )
    dg.save(fitted, tmp_path / "m")
    loaded = dg.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.fitted.predict(X).mean, fitted.predict(X).mean)
    assert loaded.fitted.gp.model.inducing.dtype == np.float64
    assert loaded.summary["reason"] == fitted.reason == "all steps done"
    assert loaded.summary["inducing_points"] == [8]


def test_features_extras_and_summary(tmp_path):
    extras = {
        "number": 1,
        "flag": True,
        "nothing": None,
        "array": np.arange(6, dtype=np.int16).reshape(2, 3),
        "big-endian": np.array([1.5, 2.5], dtype=">f8"),
        "scalar": np.float64(0.1),
        "empty": np.zeros((0, 3)),
        "texts": np.array(["a", "ß"]),
        "objects": np.array(["left", "right"], dtype=object),
        "tuple": (1, (2.5, "x"), []),
        "keys": {1.5: "x", 2: "y", "!odd": "z"},
        "odd numbers": [np.inf, -np.inf, 0.1 + 0.2, 5e-324],
        "part": Standardiser(np.zeros(2), np.ones(2)),
    }
    features = {"width": "number", "day": "date"}
    dg.save(make_fitted(), tmp_path / "m", extras=extras, features=features)
    loaded = dg.load(tmp_path / "m")
    assert loaded.features == features and list(loaded.features) == list(features)
    assert loaded.summary["beta"] == 0.5 and loaded.summary["likelihood"] == "Gaussian"
    assert loaded.summary["beta_curve"] == make_fitted().beta_curve
    assert loaded.summary["directgp"] == dg.__version__
    assert set(loaded.extras) == set(extras)
    for name, value in extras.items():
        np.testing.assert_equal(loaded.extras[name], value)
    assert isinstance(loaded.extras["tuple"][1], tuple)
    assert type(loaded.extras["part"]) is Standardiser
    assert loaded.extras["array"].dtype == np.int16


def test_features_have_default_names_and_must_fit(tmp_path):
    dg.save(make_fitted(), tmp_path / "m")
    assert dg.load(tmp_path / "m").features == {"x0": "number", "x1": "number"}
    with pytest.raises(ValueError, match="must name 2 columns, got 1"):
        dg.save(make_fitted(), tmp_path / "m", features={"a": "number"})


def test_a_long_history_is_thinned_and_stays_aligned(tmp_path):
    steps = list(range(0, 500_000, 50))
    history = {"step": steps, "objective": [float(s) for s in steps], "validation": [1.0]}
    dg.save(make_fitted(history=history), tmp_path / "m")
    kept = dg.load(tmp_path / "m").fitted.history
    assert len(kept["step"]) == len(kept["objective"]) == 1000
    assert kept["objective"] == kept["step"] and kept["validation"] == [1.0]
    assert kept["step"][0] == steps[0] and kept["step"][-1] == steps[-1]


def test_kernels_of_other_libraries_cannot_be_saved(tmp_path):
    import tinygp

    kernel = dg.from_tinygp(tinygp.kernels.ExpSquared(1.0)) + dg.RBF()
    with pytest.raises(NotSavable, match=r"fitted\.gp\.model\.kernel.*tinygp.*cannot be saved"):
        dg.save(make_fitted(kernel), tmp_path / "m")
    assert not list(tmp_path.iterdir())


class Odd(eqx.Module):
    """Somebody else's class."""

    number: int


class Pair(NamedTuple):
    left: int
    right: int


def test_a_class_of_the_users_own_is_refused_until_it_is_declared(tmp_path, monkeypatch):
    monkeypatch.setattr(classes, "_granted", dict(classes._granted))
    with pytest.raises(NotSavable, match=r"extras\.own is a .*Odd.*savable"):
        dg.save(make_fitted(), tmp_path / "m", extras={"own": Odd(3)})
    savable(Odd)
    savable(Pair)
    dg.save(make_fitted(), tmp_path / "m", extras={"own": Odd(3), "pair": Pair(1, 2)})
    extras = dg.load(tmp_path / "m").extras
    assert extras == {"own": Odd(3), "pair": Pair(1, 2)} and type(extras["pair"]) is Pair
    del classes._granted[f"{__name__}.Odd"]
    with pytest.raises(NewerModelFile, match=r"does not know \(.*Odd\)"):
        dg.load(tmp_path / "m")


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, np.array([1 + 2j]), len, b"bytes", jax.random.key(0), Path("x")],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_saved_is_named(value, tmp_path):
    with pytest.raises(NotSavable, match=r"extras\.thing") as caught:
        dg.save(make_fitted(), tmp_path / "m", extras={"thing": value})
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_savable_takes_data_classes_only():
    with pytest.raises(TypeError, match="savable takes an Equinox module"):
        savable(int)


def assert_refused(data: bytes, folder: Path, kind: type[ModelFileError] = ModelFileError):
    path = folder / "other"
    path.write_bytes(data)
    with pytest.raises(kind) as caught:
        dg.load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def whole(folder) -> bytes:
    with jax.enable_x64(True):
        dg.save(make_fitted(), folder / "whole")
    return (folder / "whole").read_bytes()


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed(whole, folder, place, bit):
    data = bytearray(whole)
    data[int(place * len(data))] ^= 1 << bit
    assert_refused(bytes(data), folder)


@given(place=st.floats(0, 1, exclude_max=True))
def test_any_truncation_is_noticed(whole, folder, place):
    assert_refused(whole[: int(place * len(whole))], folder)


@given(st.binary(max_size=300))
def test_any_other_bytes_are_refused_as_foreign(folder, data):
    assert_refused(data, folder, ForeignFile)


@given(st.binary(min_size=1, max_size=50))
def test_bytes_after_the_end_are_noticed(whole, folder, more):
    assert_refused(whole + more, folder, DamagedModelFile)


def test_foreign_files(folder):
    save_file({"a": np.zeros(3)}, folder / "other")
    assert_refused((folder / "other").read_bytes(), folder, ForeignFile)
    save_file({"a": np.zeros(3)}, folder / "other", metadata={"directgp-checkpoint": "{}"})
    with pytest.raises(ForeignFile, match="training checkpoint"):
        dg.load(folder / "other")
    with pytest.raises(ForeignFile, match="is a folder"):
        dg.load(folder)
    with pytest.raises(FileNotFoundError):
        dg.load(folder / "nothing here")


def test_newer_files_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "SCHEMA", SCHEMA + 1)
    dg.save(make_fitted(), tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(NewerModelFile, match=f"format {SCHEMA + 1}, this one reads up to {SCHEMA}"):
        dg.load(tmp_path / "m")


def rewritten(tmp_path, change) -> Path:
    """A file with a right checksum whose content someone has altered with intent."""
    original = model_file.json.dumps

    class Forged:
        loads = staticmethod(json.loads)

        @staticmethod
        def dumps(content, **options):
            change(content)
            return original(content, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_file, "json", Forged)
        dg.save(make_fitted(), tmp_path / "forged")
    return tmp_path / "forged"


@pytest.mark.parametrize(
    "path", ["os.system", "subprocess.Popen", "directgp.fitting.fit.fit", "builtins.eval", "x"]
)
def test_a_forged_file_cannot_name_other_classes(tmp_path, path):
    def change(content):
        content["extras"] = {"a": {"!class": path, "fields": {}}}

    with pytest.raises(NewerModelFile, match="does not know"):
        dg.load(rewritten(tmp_path, change))


@pytest.mark.parametrize(
    "node",
    [{"!transform": "os.system"}, {"!array": "none", "jax": True}, {"!odd": 1}, {"!float": "x"}],
    ids=str,
)
def test_forged_content_is_refused(tmp_path, node):
    def change(content):
        content["extras"] = {"a": node}

    with pytest.raises(ModelFileError) as caught:
        dg.load(rewritten(tmp_path, change))
    assert "\n" not in str(caught.value)


def test_a_forged_file_without_a_model_is_refused(tmp_path):
    def change(content):
        content["fitted"] = {"a": 1}

    with pytest.raises(ForeignFile, match="holds no fitted model"):
        dg.load(rewritten(tmp_path, change))


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_while_writing_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, step):
    path = tmp_path / "m"
    dg.save(make_fitted(), path)
    before = path.read_bytes()

    def broken(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(os, step, broken)
    with pytest.raises(OSError, match="disk full"):
        dg.save(make_fitted(beta=2.0), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


def test_nothing_in_persistence_can_run_code_from_a_file():
    forbidden = {"pickle", "dill", "cloudpickle", "joblib", "marshal", "importlib"}
    for path in Path(model_file.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & forbidden
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in forbidden
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "__import__", "compile"}
