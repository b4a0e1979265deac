"""Kernels of tinygp and GPJax: the same matrices, trainable, positive where they must be."""

import sys

import equinox as eqx
import gpjax
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import tinygp

from directgp import fit
from directgp.fitting.specs import Sparse, Training
from directgp.kernels import RBF, from_gpjax, from_tinygp, kernels
from directgp.parameters import split_trainable, unwrap

T, G = tinygp.kernels, gpjax.kernels
L2 = T.distance.L2Distance()  # with L1, its default, some tinygp kernels are not PSD


def _tiny():
    return {
        "sum": lambda: 2.0 * T.ExpSquared(1.5) + T.Exp(0.7),
        "l2": lambda: T.Matern52(2, distance=L2),
        "ard": lambda: tinygp.transforms.Linear(
            np.array([0.5, 2.0]), T.RationalQuadratic(alpha=1.5, distance=L2)
        ),
        "cholesky": lambda: tinygp.transforms.Cholesky(
            jnp.array([[1.0, 0.0], [-0.5, 2.0]]), T.ExpSquared()
        ),
        "polynomial": lambda: T.Polynomial(order=2.0, scale=1.3, sigma=0.0),
        "columns": lambda: tinygp.transforms.Subspace(1, T.ExpSineSquared(scale=1.1, gamma=0.6)),
    }


def _gpjax():
    return {
        "rbf": lambda: G.RBF(lengthscale=jnp.array([0.5, 2.0]), variance=1.7),
        "columns": lambda: G.Matern32(active_dims=[1], lengthscale=0.8),
        "sum": lambda: G.Matern52() * G.Constant(constant=2.0) + G.Linear(variance=0.3),
        "polynomial": lambda: G.Polynomial(degree=2, shift=0.5),
        "features": lambda: G.RFF(base_kernel=G.RBF(n_dims=2), num_basis_fns=8),
    }


CASES = [("tinygp", name) for name in _tiny()] + [("gpjax", name) for name in _gpjax()]


def make(library, name):
    if library == "tinygp":
        theirs = _tiny()[name]()
        return from_tinygp(theirs), theirs, lambda X, Z: theirs(X, Z)
    theirs = _gpjax()[name]()
    return from_gpjax(theirs), theirs, theirs.cross_covariance


@pytest.fixture
def inputs(rng):
    X, Z = jnp.asarray(rng.normal(size=(6, 2))), jnp.asarray(rng.normal(size=(4, 2)))
    return X, Z.at[0].set(X[0])  # two rows coincide


@pytest.mark.parametrize(("library", "name"), CASES)
def test_matrices_are_the_librarys(library, name, inputs):
    kernel, _, theirs = make(library, name)
    X, Z = inputs

    @jax.jit
    def both(X, Z):
        ours = kernel.matrix(X, Z), kernel.diagonal(X), kernel.evaluate(X[1], Z[2])
        return ours, (theirs(X, Z), jnp.diagonal(theirs(X, X)), theirs(X, Z)[1, 2])

    for left, right in zip(*both(X, Z), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)


@pytest.mark.parametrize(("library", "name"), CASES)
def test_training_moves_parameters_and_keeps_them_valid(library, name, inputs):
    kernel, _, _ = make(library, name)
    X, Z = inputs
    target = np.exp(-np.sum((np.asarray(X)[:, None] - np.asarray(Z)) ** 2, axis=-1)) + 2.0
    learned, fixed = split_trainable(kernel)
    assert jax.tree.leaves(learned), "nothing would be trained"
    adam = optax.adam(0.1)

    @jax.jit
    def step(learned, state):
        def loss(learned):
            return jnp.mean((eqx.combine(learned, fixed).matrix(X, Z) - target) ** 2)

        value, gradient = jax.value_and_grad(loss)(learned)
        updates, state = adam.update(gradient, state)
        return optax.apply_updates(learned, updates), state, value, gradient

    state, values = adam.init(learned), []
    for _ in range(30):
        learned, state, value, gradient = step(learned, state)
        values.append(float(value))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert values[-1] < values[0]
    gram = jax.jit(lambda learned: eqx.combine(learned, fixed).matrix(X, X))(learned)
    assert np.linalg.eigvalsh(gram).min() > -1e-8


def test_positive_numbers_stay_positive_however_far_training_goes():
    for kernel in (
        from_tinygp(2.0 * T.ExpSquared(1.5)),
        from_gpjax(G.RBF(lengthscale=0.5) * G.Constant(constant=2.0)),
    ):
        learned, fixed = split_trainable(kernel)
        far = jax.tree.map(lambda raw: raw - 30.0, learned)
        values = jax.tree.leaves(eqx.filter(unwrap(eqx.combine(far, fixed)), eqx.is_inexact_array))
        assert len(values) >= 2
        assert all(float(value) > 0 for value in values)


def test_what_is_no_parameter_stays_fixed():
    polynomial = from_tinygp(T.Polynomial(order=3.0, scale=1.0, sigma=0.5))
    assert len(jax.tree.leaves(split_trainable(polynomial)[0])) == 2
    assert unwrap(polynomial.kernel).order == 3
    features = from_gpjax(G.RFF(base_kernel=G.RBF(n_dims=2), num_basis_fns=8))
    assert len(jax.tree.leaves(split_trainable(features)[0])) == 2


@pytest.mark.float32_default
def test_kernels_made_in_single_precision_are_learned_in_double():
    for kernel in (from_tinygp(T.Matern32(0.7)), from_gpjax(G.Matern32(lengthscale=0.7))):
        leaves = jax.tree.leaves(split_trainable(kernel)[0])
        assert {leaf.dtype.name for leaf in leaves} == {"float64"}


def test_they_combine_with_our_kernels(inputs):
    X, Z = inputs
    both = from_tinygp(T.ExpSquared(1.5)) + RBF(0.5, 2.0) * from_gpjax(G.Matern12())
    expected = T.ExpSquared(1.5)(X, Z) + RBF(0.5, 2.0).matrix(X, Z) * G.Matern12().cross_covariance(
        X, Z
    )
    np.testing.assert_allclose(both.matrix(X, Z), expected, rtol=1e-12)


@pytest.mark.parametrize("adapter", [from_tinygp, from_gpjax])
def test_a_wrong_type_is_named(adapter):
    with pytest.raises(TypeError, match=r"takes a \w+\.kernels\.\w+, got directgp.*RBF"):
        adapter(RBF())
    with pytest.raises(TypeError, match=r"got builtins\.str"):
        adapter("rbf")


def test_quasiseparable_kernels_are_refused():
    with pytest.raises(TypeError, match="sorted scalar inputs"):
        from_tinygp(T.quasisep.Matern32(scale=1.0))


@pytest.mark.parametrize(("adapter", "name"), [(from_tinygp, "tinygp"), (from_gpjax, "gpjax")])
def test_a_missing_library_is_one_line(adapter, name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs {name}, .* pip install {name}"):
        adapter(object())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_gpjax(G.RBF(active_dims=[5])), "RBF uses column 5"),
        (lambda: from_gpjax(G.RBF() + G.Matern32(active_dims=[0, 2])), "uses column 2"),
        (lambda: from_tinygp(tinygp.transforms.Subspace(4, T.ExpSquared())), "uses column 4"),
        (lambda: from_tinygp(tinygp.transforms.Subspace(-3, T.ExpSquared())), "uses column -3"),
        (lambda: from_gpjax(G.RBF(lengthscale=jnp.ones(3))), "RBF cannot be evaluated at inputs"),
    ],
)
def test_a_kernel_that_does_not_fit_the_inputs_is_refused_in_one_line(make, words, rng):
    """JAX takes the last column for one that is not there."""
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match=words) as caught:
        fit(X, X[:, 0], beta=1.0, model=Sparse(kernel=make()), training=Training(max_steps=5))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("columns", [2, 7, 40])
@pytest.mark.parametrize(
    "make",
    [T.Matern52, T.Matern32, lambda: 2.0 * T.Matern52(5.0),
     lambda: T.RationalQuadratic(alpha=1.5)],
    ids=["Matérn 5/2", "Matérn 3/2", "multiple", "rational quadratic"],
)  # fmt: skip
def test_what_is_no_kernel_of_several_columns_is_refused(make, columns):
    """With the L1 distance, tinygp's default, they are kernels of one column only."""
    from_tinygp(make()).check_columns(1)
    with pytest.raises(ValueError, match=r"not positive definite at .*L2Distance\(\).*matern52'"):
        from_tinygp(make()).check_columns(columns)


def test_a_fit_says_which_distance_to_take(rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match="Matern52 is not positive definite at inputs with 2 col"):
        fit(
            X,
            X[:, 0],
            beta=1.0,
            model=Sparse(kernel=from_tinygp(T.Matern52())),
            training=Training(max_steps=5),
        )


class Root(T.distance.Distance):
    """A distance whose derivative is not finite at zero."""

    def distance(self, X1, X2):
        return jnp.sqrt(jnp.sum((X1 - X2) ** 2))


def test_derivatives_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="derivatives of the kernel Matern32 are not finite"):
        from_tinygp(T.Matern32(distance=Root())).check_columns(2)


@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize(
    "make",
    [lambda: from_tinygp(T.Matern52(distance=L2)), lambda: from_tinygp(T.Exp()),
     lambda: from_tinygp(T.RationalQuadratic(alpha=1.5, distance=L2)),
     lambda: from_tinygp(T.Polynomial(order=2.0, scale=1.3, sigma=0.0)),
     lambda: from_tinygp(T.ExpSquared(1e-3)), lambda: from_gpjax(G.Matern12()),
     lambda: from_gpjax(G.Matern52()), lambda: from_gpjax(G.Periodic()),
     lambda: from_gpjax(G.White()), lambda: from_gpjax(G.Linear(variance=0.3))],
)  # fmt: skip
def test_kernels_of_any_columns_are_not_refused(make, columns):
    make().check_columns(columns)


def test_columns_below_a_transformation_are_its_own(rng):
    wide = tinygp.transforms.Linear(rng.normal(size=(5, 2)), tinygp.transforms.Subspace(4, T.Exp()))
    from_tinygp(wide).check_columns(2)


@pytest.mark.parametrize("kernel,adapter", [(T.ExpSquared(1.0), "tinygp"), (G.RBF(), "gpjax")])
def test_a_kernel_without_its_adapter_is_told_its_name(kernel, adapter):
    # Directly, because in the tests (and only there) the signature of `fit` refuses it itself.
    with pytest.raises(ValueError, match=rf"write from_{adapter}\(kernel\)"):
        kernels.resolve(kernel)


@pytest.mark.parametrize(
    "make",
    [
        lambda: from_tinygp(T.ExpSquared(1.0)),
        lambda: from_gpjax(G.RBF(lengthscale=1.0, active_dims=[0])),
        lambda: from_gpjax(G.RBF(lengthscale=1.0)) + RBF(lengthscale=[1.0, 1.0]),
    ],
    ids=["tinygp", "gpjax on a column", "gpjax and ours"],
)
def test_a_fit_learns_with_them(make, rng):
    X = rng.uniform(-2, 2, size=(120, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    fitted = fit(
        X,
        y,
        beta=1.0,
        model=Sparse(kernel=make(), num_inducing=20),
        training=Training(max_steps=150),
    )
    assert np.sqrt(np.mean((fitted.predict(X).mean - np.sin(2 * X[:, 0])) ** 2)) < 0.15
