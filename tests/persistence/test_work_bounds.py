"""Small files of models that would need gigabytes, minutes of compilation or endless walks."""

from copy import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import directgp as dg
from directgp.errors import DirectGPError
from directgp.fitting.specs import Coregionalised, Deep, Sparse
from directgp.fitting.stacking import fit_class_stack, fit_stack
from directgp.fitting.stacking.member import ByGP, ByTrees
from directgp.fitting.stacking.trees import TreeEnsemble
from directgp.kernels import Sum
from directgp.persistence import DamagedModelFile
from directgp.persistence.gp_checks import check_fitted
from directgp.persistence.work_bounds import DEEPEST_TREE, MOST_TREES, check_depth, check_work
from tests.attack.forge import forged
from tests.attack.untrained import untrained


def altered(part, **changes):
    """The part with other fields, unchecked, as a file could hold it."""
    made = copy(part)
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


@pytest.fixture(scope="module")
def stack():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return fit_stack(X, X[:, 0] + 0.1 * rng.normal(size=60))


def located(stack, location):
    """The stack with one member, whose location is another."""
    member = altered(stack.members[0], location=location, scale=None)
    return altered(stack, members=(member,), weights=np.ones(1))


def chain(nodes: int) -> TreeEnsemble:
    """One tree whose nodes follow each other."""
    following = np.minimum(np.arange(nodes) + 1, nodes - 1)
    zero, first = np.zeros(nodes), np.zeros(nodes, np.int64)
    return TreeEnsemble(zero[:1], first[:1], first, zero, following, following, zero)


def leaves(trees: int) -> TreeEnsemble:
    """Trees of one leaf each."""
    own, zero = np.arange(trees), np.zeros(trees)
    return TreeEnsemble(zero[:1], own, np.zeros(trees, np.int64), zero, own, own, zero)


def assert_refused(fitted, path, complaint):
    path.write_bytes(forged(fitted))
    with pytest.raises(DamagedModelFile, match=complaint) as caught:
        dg.load(path)
    assert "\n" not in str(caught.value)


def test_walks_through_trees_are_bounded(stack, tmp_path):
    for sound in (chain(DEEPEST_TREE), leaves(MOST_TREES)):
        check_work(located(stack, ByTrees(sound, 1.0)))
    path = tmp_path / "model"
    assert_refused(located(stack, ByTrees(chain(DEEPEST_TREE + 1), 1.0)), path, "a depth of")
    assert_refused(located(stack, ByTrees(leaves(MOST_TREES + 1), 1.0)), path, "trees")


def test_the_deepest_of_several_trees_counts():
    deep, shallow = chain(DEEPEST_TREE + 1), leaves(1)
    after = len(deep.left)
    both = TreeEnsemble(
        deep.baseline,
        np.array([0, after]),
        *(
            np.append(a, b + (after if name in ("left", "right") else 0))
            for name, a, b in zip(TreeEnsemble._fields[2:], deep[2:], shallow[2:], strict=True)
        ),
    )
    with pytest.raises(DirectGPError, match="a depth of at most"):
        check_depth(both)
    check_depth(leaves(2))


def rows_of(gp, count: int):
    """The GP with so many rows, whose matrix is what a prediction needs."""
    rows = np.zeros(count)
    left_out = gp.left_out._replace(mean=rows, variance=rows + 1)
    X = np.zeros((count, gp.X.shape[1]))
    return altered(gp, X=X, y=rows, weight=rows + 1, alpha=rows, left_out=left_out)


def test_the_matrices_of_all_members_are_added_up(stack, tmp_path):
    location = stack.members[0].location
    large = ByGP(rows_of(location.gp, 10_000))
    check_work(large)
    several = altered(
        located(stack, large),
        members=tuple(altered(stack.members[0], location=large, scale=None) for _ in range(3)),
        weights=np.full(3, 1 / 3),
    )
    assert len(forged(several)) < 3_000_000
    assert_refused(several, tmp_path / "model", "more than 2 GiB")


def test_the_latent_functions_of_classes_are_added_up(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    stack = fit_class_stack(X, np.digitize(X[:, 0], [-0.5, 0.0, 0.5]).astype(float), 4)
    number, member = next((k, m) for k, m in enumerate(stack.members) if hasattr(m.model, "gp"))
    gp, rows = member.model.gp, 9000
    wide = altered(
        gp, X=np.zeros((rows, 2)), alpha=np.zeros((4, rows)), curvature=np.ones((4, rows))
    )
    changed = altered(member, model=altered(member.model, gp=wide))
    members = (*stack.members[:number], changed, *stack.members[number + 1 :])
    assert_refused(altered(stack, members=members), tmp_path / "model", "more than 2 GiB")


def test_parts_that_are_compiled_are_bounded(tmp_path):
    fitted = untrained(Sparse(num_inducing=2), dg.Gaussian())
    many = altered(fitted.gp.model, kernel=Sum((dg.RBF(1.0, [1.0, 1.0, 1.0]),) * 300))
    path = tmp_path / "model"
    assert_refused(altered(fitted, gp=fitted.gp._replace(model=many)), path, "a kernel has at most")
    deep = untrained(Deep(width=3, num_sites=2, num_inducing=2), dg.Gaussian())
    layers = (deep.gp.model.layers[0],) * 60
    points = altered(deep.gp.model.propagation, points=deep.gp.model.propagation.points * 59)
    model = altered(
        deep.gp.model, layers=(*layers[1:], deep.gp.model.layers[1]), propagation=points
    )
    assert_refused(altered(deep, gp=deep.gp._replace(model=model)), path, "at most 50 layers")


def test_outputs_are_bounded(tmp_path):
    fitted = untrained(Coregionalised(Sparse(num_inducing=2), np.eye(2)), dg.GaussianOutputs(2))
    model, count = fitted.gp.model, 3000
    wide = altered(model, mixing=np.zeros((count, 2)), levels=np.arange(float(count)))
    with pytest.raises(DirectGPError, match="more than 2 GiB"):
        check_work(wide)
    check_work(model)


@pytest.mark.parametrize(("columns", "inducing"), [(20_000, 2), (9_000, 13_000)])
def test_columns_that_a_kernel_names_over_and_over_are_bounded(columns, inducing, tmp_path):
    fitted = untrained(Sparse(num_inducing=2, mean_field=True), dg.Gaussian())
    own = fitted.gp.model
    kernel = dg.OnColumns(dg.RBF(), (0, 1) * (columns // 2))
    with jax.enable_x64(True):
        ones = jnp.ones((1, inducing))
        model = altered(
            own,
            kernel=kernel,
            inducing=jnp.ones((inducing, 3)),
            posterior=altered(own.posterior, mean=ones, scale=ones),
        )
    path = tmp_path / "model"
    complaint = "at most 10,000 columns" if columns > 10_000 else "more than 2 GiB"
    assert_refused(altered(fitted, gp=fitted.gp._replace(model=model)), path, complaint)
    assert path.stat().st_size < 1_000_000
    check_work(altered(own, kernel=dg.OnColumns(dg.RBF(), (0, 1, 0))))


def test_kernels_and_layers_are_added_up_over_the_whole_file(tmp_path):
    deep = untrained(Deep(width=3, num_sites=2, num_inducing=2), dg.Gaussian())
    model, first = deep.gp.model, deep.gp.model.layers[0]
    for kernels, layers, complaint in ((250, 10, "1000 parts of the kind Kernel"), (1, 49, None)):
        wide = altered(first, kernel=Sum((dg.RBF(1.0, [1.0, 1.0, 1.0]),) * kernels))
        many = altered(
            model,
            layers=(*(wide,) * layers, model.layers[1]),
            propagation=altered(model.propagation, points=model.propagation.points * layers),
        )
        changed = altered(deep, gp=deep.gp._replace(model=many))
        if complaint:
            assert_refused(changed, tmp_path / "model", complaint)
        else:
            check_work(changed)
    with pytest.raises(DirectGPError, match="500 parts of the kind SparseGP"):
        check_work((first,) * 501)


def of_classes(classes: int, samples: int = 1):
    """A model of so many classes, whose prediction draws so many samples."""
    spec = Deep(width=3, join="samples", num_inducing=2, mean_field=True, mean="zero")
    deep = untrained(spec, dg.Gaussian())
    model = deep.gp.model
    with jax.enable_x64(True):
        moments = {"mean": jnp.ones((classes, 2)), "scale": jnp.ones((classes, 2))}
    top = altered(model.layers[1], posterior=altered(model.layers[1].posterior, **moments))
    rule = altered(model.propagation, predict_samples=samples)
    changed = altered(model, layers=(model.layers[0], top), propagation=rule)
    return altered(deep, gp=deep.gp._replace(model=changed, likelihood=dg.Categorical(classes)))


@pytest.mark.parametrize(("classes", "samples"), [(5000, 1), (300, 1000), (20, 10_000)])
def test_the_points_that_classes_take_are_bounded(classes, samples, tmp_path):
    assert_refused(of_classes(classes, samples), tmp_path / "model", "components for its classes")
    assert (tmp_path / "model").stat().st_size < 200_000
    check_fitted(of_classes(100, 50))
