"""Deep, feature, decoupled and multi-output models in files: the same numbers, the same bits."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import directgp as dg
from directgp.expectations import choose_expectation
from directgp.fitting.fitted import LongTable
from directgp.fitting.specs import Coregionalised, Decoupled, Deep, Sparse
from directgp.models.sigma_point import rules
from directgp.tables import Standardiser

X = np.random.default_rng(0).normal(size=(30, 3))
LONG = np.concatenate([X, np.arange(30.0)[:, None] % 2], axis=1)
DEEP = Deep(width=2, num_sites=2, num_inducing=5)


class DecoupledTop(Deep):
    """Layers whose last one has inducing inputs for its mean alone."""

    def on_inputs(self, inputs, mean, latents, seed):
        model = super().on_inputs(inputs, mean, latents, seed)
        extra = Decoupled(mean_inducing=6, num_inducing=5, mean_field=True)
        hidden = inputs[:, : self.width]
        return replace(
            model, layers=(*model.layers[:-1], extra.on_inputs(hidden, mean, latents, seed))
        )


STRUCTURES = {
    **{rule: replace(DEEP, quadrature=rule) for rule in rules},
    "samples": replace(DEEP, layers=3, join="samples", num_sites=3, skip=True),
    "own kernels": replace(DEEP, own_kernels=True),
    "features": Sparse(features="mlp", feature_widths=(4, 2), num_inducing=5, mean_field=True),
    "decoupled": DecoupledTop(width=2, num_sites=2, num_inducing=5),
}
OUTPUTS = Coregionalised(DEEP, np.array([[1.0, 0.2], [-0.5, 0.3]]))


def fitted_with(spec, rows, likelihood):
    """A model as it is when training starts."""
    y = np.sin(rows[:, 0])
    gp = dg.GP(spec.initial_model(rows, y, likelihood, 0), likelihood)
    loss, columns = dg.Direct(dg.LogLoss()), rows.shape[1]
    how = choose_expectation(loss.needs, likelihood)
    return dg.FittedGP(
        gp,
        Standardiser(np.zeros(columns), np.ones(columns)),
        Standardiser(np.array([10.0]), np.array([4.0])),
        dg.Objective(loss, dg.PerLayer((dg.KL(), dg.Renyi(0.5))), how),
        0.5,
        {},
        {"step": [50]},
        "converged",
        1.0,
    )


def assert_same_numbers(first, second):
    left, right = (jax.tree.leaves((f.gp, f.objective)) for f in (first, second))
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)
    assert jax.tree.structure(first.gp) == jax.tree.structure(second.gp)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_comes_back(name, tmp_path):
    fitted = fitted_with(STRUCTURES[name], X, dg.Gaussian())
    dg.save(fitted, tmp_path / "m")
    assert_same_numbers(dg.load(tmp_path / "m").fitted, fitted)


def test_a_deep_model_predicts_the_same_bits(tmp_path):
    fitted = fitted_with(STRUCTURES["samples"], X, dg.Gaussian())
    dg.save(fitted, tmp_path / "m")
    before, after = fitted.predict(X), dg.load(tmp_path / "m").fitted.predict(X)
    np.testing.assert_array_equal(after.quantile([0.1, 0.9]), before.quantile([0.1, 0.9]))
    np.testing.assert_array_equal(after.mean, before.mean)


def test_several_outputs_come_back_with_their_units(tmp_path):
    scales = Standardiser(np.array([0.0, 100.0]), np.array([1.0, 20.0]))
    long = fitted_with(OUTPUTS, LONG, dg.GaussianOutputs(2))
    shift, scale = long.inputs
    outputs = replace(
        long,
        inputs=Standardiser(shift[:-1], scale[:-1]),
        targets=scales,
        long_table=LongTable(Standardiser(shift[-1:], scale[-1:]), long.targets),
    )
    dg.save(outputs, tmp_path / "m")
    loaded = dg.load(tmp_path / "m")
    assert loaded.fitted.num_outputs == 2 and list(loaded.features) == ["x0", "x1", "x2"]
    assert_same_numbers(loaded.fitted, outputs)
    for before, after in zip(outputs.predict(X), loaded.fitted.predict(X), strict=True):
        np.testing.assert_array_equal(after.mean, before.mean)
        np.testing.assert_array_equal(after.variance, before.variance)
