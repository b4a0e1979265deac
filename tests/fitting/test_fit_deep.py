"""Deep, robust, decoupled, multi-output and feature models through `fit`."""

import equinox as eqx
import jax
import numpy as np
import pytest

from directgp import (
    KL,
    Deep,
    DeepGP,
    Direct,
    GammaLoss,
    Gaussian,
    Gibbs,
    PerLayer,
    Renyi,
    Sparse,
    Training,
    fit,
    fit_outputs,
    metrics,
)
from directgp.models import DecoupledGP, Independent, MultiOutput, OnFeatures, SparseGP
from directgp.parameters import unwrap
from directgp.training import resumable as stages
from tests.flat import flat

QUICK = {"num_inducing": 15, "max_steps": 150, "precision": "float64", "beta": 0.1}


def step_data(rows=150, seed=0):
    """A jump in a smooth function: what one layer of a stationary kernel cannot do."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows, 2))
    y = np.where(X[:, 0] > 0.1, 1.0, -1.0) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=rows)
    return X, 3.0 + 10.0 * y


def all_finite(fitted):
    return all(
        np.isfinite(leaf).all() for leaf in jax.tree.leaves(eqx.filter(fitted.gp, eqx.is_array))
    )


@pytest.mark.parametrize("deep", ["sigma-points", "samples"])
def test_a_deep_model_learns_and_predicts_in_any_company(deep):
    X, y = step_data()
    loss = "direct-log" if deep == "sigma-points" else "elbo"
    fitted = fit(X, y, **flat(layers=2, width=2, deep=deep, num_sites=4, loss=loss, **QUICK))
    assert isinstance(fitted.gp.model, DeepGP)
    assert len(fitted.gp.model.posteriors) == 2
    predicted = fitted.predict(X)
    assert metrics.rmse(predicted, y) < 0.35 * y.std()
    alone = fitted.predict(X[3:4])
    np.testing.assert_allclose(alone.mean[0], predicted.mean[3], rtol=1e-9)
    np.testing.assert_allclose(alone.variance[0], predicted.variance[3], rtol=1e-9)
    again = fit(
        X, y, **flat(layers=2, width=2, deep=deep, num_sites=4, loss=loss, **QUICK)
    ).predict(X)
    np.testing.assert_array_equal(again.mean, predicted.mean)


def starts(own_kernels, **structure):
    """A model as it is before training."""
    X, y = step_data()
    spec = Deep(own_kernels=own_kernels, num_inducing=15, mean_field=False, **structure)
    return spec.initial_model(X, y, Gaussian(), 0)


@pytest.mark.parametrize(("layers", "skip"), [(2, False), (3, True)])
def test_kernels_of_their_own_start_where_a_shared_one_starts(layers, skip):
    X = jax.numpy.asarray(step_data()[0])
    shared, own = (starts(value, layers=layers, width=3, skip=skip) for value in (False, True))
    for layer in own.layers[:-1]:
        assert isinstance(layer, Independent) and len(layer.parts) == 3
    divergence = eqx.filter_jit(lambda posterior: KL()(posterior))
    for a, b in zip(shared.posteriors, own.posteriors, strict=True):
        np.testing.assert_allclose(divergence(b), divergence(a), rtol=1e-12)
    marginals = eqx.filter_jit(lambda model: model.condition().marginals(X))
    a, b = (marginals(model) for model in (shared, own))
    np.testing.assert_allclose(b.mean, a.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(b.variance, a.variance, rtol=1e-9)


@pytest.mark.parametrize("deep", ["sigma-points", "samples"])
def test_inner_outputs_learn_kernels_and_inducing_inputs_of_their_own(deep):
    X, y = step_data()
    options = {"layers": 2, "width": 2, "deep": deep, "num_sites": 3, "own_kernels": True}
    loss = "direct-log" if deep == "sigma-points" else "elbo"
    fitted = fit(X, y, **flat(loss=loss, **options, **QUICK | {"precision": "mixed"}))
    assert metrics.rmse(fitted.predict(X), y) < 0.35 * y.std()
    first, second = (unwrap(part) for part in fitted.gp.model.layers[0].parts)
    assert np.abs(first.inducing - second.inducing).max() > 0.1
    assert np.abs(first.kernel.lengthscale - second.kernel.lengthscale).max() > 1e-3


def test_kernels_of_their_own_bear_few_distinct_rows():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, size=(5000, 2)).astype(float)
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(5000)
    options = {"layers": 2, "width": 2, "num_inducing": 50, "own_kernels": True, "epochs": 1}
    fitted = fit(X, y, **flat(beta=1.0, **options))
    assert all_finite(fitted) and np.isfinite(fitted.predict(X).mean).all()


@pytest.mark.slow
def test_beta_is_raced_for_deep_models_too():
    X, y = step_data()
    options = QUICK | {"beta": "auto", "max_steps": 100}
    fitted = fit(X, y, **flat(layers=2, width=2, num_sites=3, beta_grid=[1.0, 0.1], **options))
    assert set(fitted.beta_curve) == {1.0, 0.1}
    assert np.isfinite(metrics.nll(fitted.predict(X), y)).all()


def wild_data(rows=160):
    """Duplicated rows, a constant column, and targets with gross outliers."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(rows // 4, 2)), 4, axis=0)
    X = np.concatenate([X, np.full((rows, 1), 7.0)], axis=1)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=rows)
    y[::37] = 1e4
    return X, y


@pytest.mark.parametrize(
    ("steps", "precision"),
    [(200, "auto"), pytest.param(5000, "mixed", marks=pytest.mark.slow)],
)
def test_three_layers_on_wild_data_stay_finite(steps, precision):
    X, y = wild_data()
    fitted = fit(
        X,
        y,
        divergence=PerLayer((KL(), Renyi(0.5), KL())),
        beta=0.1,
        model=Deep(layers=3, width=2, num_sites=4, num_inducing=60),
        training=Training(max_steps=steps, precision=precision),
    )
    assert all_finite(fitted)
    assert np.isfinite(fitted.history["objective"]).all()
    predicted = fitted.predict(X)
    assert np.isfinite(predicted.mean).all()
    assert (predicted.variance > 0).all()


def test_outliers_spoil_the_elbo_and_not_the_robust_fits():
    rng = np.random.default_rng(2)
    X = np.sort(rng.uniform(-3, 3, size=(200, 1)), axis=0)
    clean = np.sin(X[:, 0])
    y = clean + 0.1 * rng.normal(size=200)
    y[rng.choice(200, 10, replace=False)] += 8.0
    error = {}
    for name, loss in {
        "elbo": "elbo",
        "gibbs": Gibbs(GammaLoss(1.3)),
        "direct": Direct(GammaLoss(1.3)),
    }.items():
        fitted = fit(
            X,
            y,
            loss=loss,
            beta=1.0,
            model=Sparse(num_inducing=15),
            training=Training(max_steps=300),
        )
        error[name] = np.sqrt(np.mean((fitted.predict(X).mean - clean) ** 2))
    assert error["gibbs"] < 0.5 * error["elbo"]
    assert error["direct"] < 0.5 * error["elbo"]


@pytest.mark.slow
def test_extra_inducing_inputs_and_features_by_name():
    X, y = step_data()
    for options, kind in (
        ({"mean_inducing": 30}, DecoupledGP),
        ({"features": "mlp", "feature_widths": (8, 2)}, OnFeatures),
    ):
        fitted = fit(X, y, **flat(**QUICK, **options))
        assert isinstance(fitted.gp.model, kind)
        assert metrics.rmse(fitted.predict(X), y) < 0.35 * y.std()


def test_outputs_help_each_other_where_values_are_missing():
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(-3, 3, size=(120, 1)), axis=0)
    base = np.sin(2 * X[:, 0])
    Y = np.stack([base, 100 - 20 * base, 0.1 * rng.normal(size=120)], axis=1)
    Y[:, :2] += [0.02, 0.4] * rng.normal(size=(120, 2))
    gap = slice(50, 80)
    truth = Y[gap, 1].copy()
    Y[gap, 1] = np.nan
    # After 400 steps the last bit of y still decides: mostly 0.09 of the spread below, once 0.28.
    fitted = fit_outputs(
        X,
        Y,
        num_factors=2,
        beta=1.0,
        model=Sparse(num_inducing=20),
        training=Training(max_steps=800),
    )
    predicted = fitted.predict(X)
    assert len(predicted) == 3
    assert np.sqrt(np.mean((predicted[1].mean[gap] - truth) ** 2)) < 0.2 * truth.std()
    assert metrics.rmse(predicted[0], Y[:, 0]) < 0.15
    with pytest.raises(ValueError, match=r"outputs \[1\] of Y have no measured value"):
        fit_outputs(X, np.where([True, False, True], Y, np.nan))
    with pytest.raises(ValueError, match="use fit\\(\\) for a single output"):
        fit_outputs(X, Y[:, 0])


def test_refusals_say_what_to_do(monkeypatch):
    X, y = step_data(30)
    with pytest.raises(ValueError, match="unknown deep 'chain'; choose one of: samples, sigma"):
        fit(X, y, model=Deep(join="chain"))
    with pytest.raises(ValueError, match="2 layers need as many kernels, got 3"):
        fit(X, y, beta=1.0, model=Deep(kernel=("rbf", "rbf", "rbf")))
    with pytest.raises(ValueError, match="layers must be a whole number ≥ 1, got 0"):
        fit(X, y, model=Deep(layers=0))
    monkeypatch.setattr(stages, "run", None)  # before anything is trained
    with pytest.raises(ValueError, match="of 2 layers cannot lend its hyperparameters: its upper"):
        fit(X, y, **flat(hyperparameters="from-elbo", num_inducing=5, beta=1.0, layers=2))


LENT = {"num_inducing": 6, "max_steps": 30, "precision": "float64", "beta": 0.5}


def without_posterior(model):
    match model:
        case SparseGP():
            return model.kernel, model.inducing, model.mean_function
        case DecoupledGP():
            return without_posterior(model.base), model.extra
        case OnFeatures():
            return model.features, without_posterior(model.model)
        case MultiOutput():
            return model.mixing, without_posterior(model.base)


@pytest.mark.parametrize("kind", ["decoupled", "network", "outputs"])
def test_any_model_of_one_layer_lends_its_hyperparameters(kind):
    X, y = step_data(30)
    Y = np.stack([y, -y + X[:, 1]], axis=1)
    structure = {
        "decoupled": {"mean_inducing": 4},
        "network": {"features": "mlp", "feature_widths": (4, 2)},
        "outputs": {},
    }[kind]

    def fitted(**options):
        options = flat(**(LENT | structure | options))
        return fit_outputs(X, Y, **options) if kind == "outputs" else fit(X, y, **options)

    elbo = fitted(loss="elbo", beta=1.0)
    direct = fitted(hyperparameters="from-elbo")
    parts = zip(
        jax.tree.leaves(unwrap((without_posterior(elbo.gp.model), elbo.gp.likelihood))),
        jax.tree.leaves(unwrap((without_posterior(direct.gp.model), direct.gp.likelihood))),
        strict=True,
    )
    for old, new in parts:
        np.testing.assert_allclose(new, old, rtol=1e-10)
    means = [np.asarray(f.gp.model.posteriors[0].mean) for f in (elbo, direct)]
    assert np.abs(means[0] - means[1]).max() > 0.01  # the posterior is the direct loss's own


def test_outputs_of_one_layer_may_mix_functions_with_kernels_of_their_own():
    X, y = step_data(40)
    Y = np.stack([y, np.sin(9 * X[:, 1]), y + np.sin(9 * X[:, 1])], axis=1)
    options = {"num_inducing": 8, "max_steps": 60, "beta": 0.1, "num_factors": 2}
    fitted = fit_outputs(X, Y, **flat(own_kernels=True, mean="constant", **options))
    base = fitted.gp.model.base
    assert isinstance(base, Independent) and len(base.parts) == 2
    scales = [np.asarray(unwrap(part.kernel.lengthscale)) for part in base.parts]
    assert np.abs(scales[0] - scales[1]).max() > 1e-3
    assert all(np.isfinite(p.mean).all() for p in fitted.predict(X))
    with pytest.raises(ValueError, match="own_kernels=True has no effect on one latent function"):
        fit(X, y, **flat(own_kernels=True, beta=1.0))
    with pytest.raises(ValueError, match="own_kernels=True has no effect on a Decoupled model"):
        flat(own_kernels=True, mean_inducing=3)
