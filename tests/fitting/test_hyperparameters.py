"""What a fit has learned, in the units of the data; and what it is, in one line."""

import jax
import numpy as np
import pytest

from directgp import fit, fit_outputs
from directgp.kernels import RBF, Kernel, Linear, Matern32, Matern52, OnColumns, Units
from directgp.likelihoods import Gaussian, NegativeBinomialExp, PoissonExp, StudentT
from tests.flat import flat

RNG = np.random.default_rng(0)
X = RNG.normal(5.0, [2.0, 300.0], size=(60, 2))
Y = 50.0 * np.sin(X[:, 0]) + RNG.normal(size=60)
QUICK = {"beta": 1.0, "max_steps": 20, "num_inducing": 8}
STILL = QUICK | {"learning_rate": 1e-12, "likelihood": Gaussian(0.25)}
"""Nothing moves, so that what is learned is what was given."""
UNITS = Units(("a", "b"), np.array([2.0, 300.0]), 10.0)


def test_numbers_have_the_units_of_their_columns():
    fitted = fit(X, Y, **flat(kernel=Matern52(0.5, [0.3, 3.0]), **STILL))
    found = fitted.hyperparameters(["age", "income"])
    assert list(found) == ["kernel", "variance", "lengthscale", "noise_std"]
    assert found["kernel"] == "Matern52"
    assert found["variance"] == pytest.approx(0.5 * Y.var())
    assert found["noise_std"] == pytest.approx(0.5 * Y.std())
    expected = {"age": 0.3 * X[:, 0].std(), "income": 3.0 * X[:, 1].std()}
    assert found["lengthscale"] == pytest.approx(expected)
    assert list(fitted.hyperparameters()["lengthscale"]) == ["column 0", "column 1"]
    with pytest.raises(ValueError, match="names must name the 2 input columns, got 1; give one"):
        fitted.hyperparameters(["age"])


@pytest.mark.float32_default
def test_numbers_are_exact_whatever_the_users_precision():
    fitted = fit(X, Y, **flat(kernel=Matern52(0.5, [0.3, 3.0]), **STILL))
    assert fitted.hyperparameters()["noise_std"] == pytest.approx(0.5 * Y.std(), rel=1e-9)


def test_other_units_give_the_same_model_in_other_units():
    first, second = fit(X, Y, **flat(**QUICK)), fit(X * [1000.0, 1.0], Y / 60.0, **flat(**QUICK))
    ours, theirs = first.hyperparameters(), second.hyperparameters()
    assert theirs["noise_std"] == pytest.approx(ours["noise_std"] / 60.0, rel=1e-6)
    assert theirs["variance"] == pytest.approx(ours["variance"] / 60.0**2, rel=1e-6)
    scaled = {"column 0": 1000.0, "column 1": 1.0}
    for name, factor in scaled.items():
        expected = factor * ours["lengthscale"][name]
        assert theirs["lengthscale"][name] == pytest.approx(expected, rel=1e-6)


def test_one_length_scale_for_all_columns_has_the_units_of_each():
    assert RBF(lengthscale=0.5).in_units(UNITS)["lengthscale"] == {"a": 1.0, "b": 150.0}


def test_composed_kernels_tell_of_their_parts():
    kernel = RBF(2.0) + 4.0 * Linear([0.25, 9.0], 1.0) * OnColumns(Matern32(3.0, [0.1]), [1])
    found = kernel.in_units(UNITS)
    assert found["kernel"] == kernel.label == "RBF + Linear · Matern32"
    rbf, product = found["parts"]
    assert rbf["variance"] == pytest.approx(200.0)
    linear, matern = product["parts"]
    assert linear["slope_std"] == pytest.approx({"a": 2 * 0.5 * 10 / 2, "b": 2 * 3 * 10 / 300})
    assert linear["level_std"] == pytest.approx(20.0)
    assert matern == {
        "kernel": "Matern32",
        "variance": pytest.approx(3.0),
        "lengthscale": pytest.approx({"b": 30.0}),
    }
    assert ((RBF() + Linear()) * RBF()).label == "(RBF + Linear) · RBF"


class Brownian(Kernel):
    """A kernel of a user."""

    def evaluate(self, x, z):
        return jax.numpy.minimum(x[0], z[0])


def test_a_kernel_that_is_not_known_is_named():
    assert Brownian().in_units(UNITS) == {"kernel": "Brownian"}


def test_kernels_of_other_libraries_are_named():
    tinygp = pytest.importorskip("tinygp")
    from directgp.kernels import from_tinygp

    assert (2.0 * from_tinygp(tinygp.kernels.ExpSquared(1.0))).label == "ExpSquared"


def test_other_likelihoods_tell_what_they_learn():
    student = StudentT(0.3, 5.0).in_units(10.0)
    assert student == pytest.approx({"noise_scale": 3.0, "df": 5.0})
    assert NegativeBinomialExp(0.5).in_units(1.0) == pytest.approx({"dispersion": 0.5})
    assert PoissonExp().in_units(1.0) == {}


@pytest.mark.parametrize("options", [{"layers": 2}, {"features": "mlp"}], ids=str)
def test_inner_layers_have_no_units(options):
    found = fit(X, Y, **flat(**QUICK, **options)).hyperparameters()
    assert list(found) == ["kernel", "noise_std"] and found["kernel"] is None
    assert 0 < found["noise_std"] < 2 * Y.std()


def test_several_outputs_have_a_noise_each():
    Y2 = np.stack([Y, 1000.0 * Y], axis=1)
    fitted = fit_outputs(X, Y2, **flat(**QUICK))
    found = fitted.hyperparameters(["age", "income"])
    assert list(found["lengthscale"]) == ["age", "income"]
    first, second = found["noise_std"]
    assert second == pytest.approx(1000.0 * first, rel=0.2)
    std = [predictive.std.min() for predictive in fitted.predict(X)]
    assert first < std[0] and second < std[1]
    shown = repr(fitted)
    assert shown.startswith("FittedGP: 2 outputs of SparseGP, 2 inputs, 8 inducing points")
    assert "\n" not in shown


def test_a_fit_is_printed_in_one_line():
    shown = repr(fit(X, Y, **flat(**QUICK, loss="elbo", validation=0.2)))
    assert shown.startswith(
        "FittedGP: SparseGP, 2 inputs, 8 inducing points, Matern52, Gaussian; "
        "Gibbs(LogLoss), β = 1; 20 steps, "
    )
    assert "(all steps done); held-out loss " in shown
    assert "\n" not in shown and len(shown) < 250
    chosen = repr(fit(X[:, :1], Y, **flat(**QUICK | {"beta": "auto"}, beta_grid=[1.0, 0.1])))
    assert "1 input," in chosen and " (of 2 tried)" in chosen
    deep = repr(fit(X, Y, **flat(**QUICK, layers=2)))
    assert deep.startswith("FittedGP: DeepGP of 2 layers, 2 inputs, 8 inducing points, Gaussian;")
