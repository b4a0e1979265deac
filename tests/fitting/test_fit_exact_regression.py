"""`fit(model=Exact())` against scikit-learn, refits without a row, and what has no meaning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern

import directgp as dg
from directgp.exact.checked_regression import checked_regression
from directgp.exact.regression import conditioned, row_loss
from directgp.fitting import fit_exact_regression as module
from directgp.fitting.fit_exact_regression import determines_spread, objective_of, with_own_spread
from directgp.losses import Direct, Pinball, losses

LOSSES = ["elbo", "direct-log", "direct-square", "direct-crps", "direct-pinball"]


def table(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2)) * [1.0, 30.0] + [5.0, -200.0]
    return X, 100 + 20 * np.sin(2 * X[:, 0]) + 4 * rng.normal(size=rows)


@pytest.fixture(scope="module")
def fits():
    X, y = table()
    return {loss: dg.fit(X, y, model=dg.Exact(), loss=loss) for loss in LOSSES}


def in_scikit_learn(fitted, X, y):
    """The same GP: kernel and noise in standardised units, fitted to standardised rows."""
    *lengthscale, variance, slope = np.exp(fitted.gp.kernel.log_parameters)
    matern = ConstantKernel(variance) * Matern(lengthscale, nu=2.5)
    kernel = matern + ConstantKernel(slope / X.shape[1]) * DotProduct(1e-10)
    made = GaussianProcessRegressor(kernel, alpha=np.exp(fitted.gp.log_noise), optimizer=None)
    return made.fit(fitted.inputs.forward_inputs(X), fitted.targets.forward(y[:, None])[:, 0])


def test_mean_variance_and_evidence_are_those_of_scikit_learn(fits):
    X, y = table()
    new = table(7, seed=1)[0]
    for fitted in (fits["elbo"], fits["direct-log"]):
        other, scale = in_scikit_learn(fitted, X, y), fitted.targets.scale[0]
        mean, deviation = other.predict(fitted.inputs.forward_inputs(new), return_std=True)
        found = fitted.predict(new)
        np.testing.assert_allclose(found.mean, mean * scale + fitted.targets.shift[0], rtol=1e-6)
        with_noise = scale * np.sqrt(deviation**2 + np.exp(fitted.gp.log_noise))
        np.testing.assert_allclose(found.std, fitted.spread * with_noise, rtol=1e-5)
        expected = other.log_marginal_likelihood_value_ - len(y) * np.log(scale)
        assert fitted.log_evidence == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # at its bounds
def test_the_evidence_is_no_lower_than_where_scikit_learn_ends(fits):
    X, y = table()
    other = in_scikit_learn(fits["elbo"], X, y).set_params(
        optimizer="fmin_l_bfgs_b", alpha=np.exp(fits["elbo"].gp.log_noise)
    )
    fitted = fits["elbo"]
    other.fit(fitted.inputs.forward_inputs(X), fitted.targets.forward(y[:, None])[:, 0])
    theirs = other.log_marginal_likelihood_value_ - len(y) * np.log(fitted.targets.scale[0])
    assert fitted.log_evidence > theirs - 2.0  # the priors of length-scales and noise


def test_a_row_left_out_is_a_refit_without_it_at_the_same_hyperparameters(fits):
    for fitted in fits.values():
        gp = fitted.gp
        own = fitted.left_out
        # To each K a billionth of its size is added, which is noise that the kernel does not have.
        size = np.mean(gp.kernel.diagonal(gp.X)) / np.exp(gp.log_noise)
        close = 1e-5 + 1e-9 * size
        for row in (0, 17, 39):
            merged = fitted.row[row]
            others = np.arange(len(gp.y)) != merged
            less = conditioned(
                gp.X[others], gp.y[others], gp.weight[others], gp.kernel, gp.log_noise
            )
            mean, variance = less.predict(gp.X[[merged]])
            scale, shift = fitted.targets.scale[0], fitted.targets.shift[0]
            expected = scale * fitted.spread * np.sqrt(variance[0])
            np.testing.assert_allclose(own.predictive.std[row], expected, rtol=close)
            error = own.y[row] - (scale * mean[0] + shift)
            found = own.y[row] - own.predictive.mean[row]
            np.testing.assert_allclose(found, fitted.optimism * error, rtol=close, atol=1e-7)


def test_what_was_left_out_is_in_the_order_and_the_units_of_the_rows(fits):
    _, y = table()
    found = fits["direct-log"].left_out
    np.testing.assert_allclose(found.y, y, rtol=1e-12)
    deviation = found.predictive.std
    expected = stats.norm.logpdf(y, found.predictive.mean, deviation)
    np.testing.assert_allclose(found.log_prob, expected, rtol=1e-9)
    scores = found.scores()
    assert scores["nll"][0] == pytest.approx(-expected.mean())
    assert scores["nll"][1] == pytest.approx(expected.std(ddof=1) / np.sqrt(40))
    inside = np.abs(y - found.predictive.mean) < stats.norm.ppf(0.95) * deviation
    assert scores["coverage"][0] == pytest.approx(inside.mean())


def test_scores_weigh_rows():
    X, y = table(20)
    weight = np.linspace(0.5, 2.0, 20)
    found = dg.fit(X, y, model=dg.Exact(), sample_weight=weight).left_out
    assert found.scores()["nll"][0] == pytest.approx(np.average(-found.log_prob, weights=weight))


@pytest.mark.parametrize("loss", LOSSES[1:])
def test_each_loss_wins_on_its_own_score(loss, fits):
    of_row = row_loss(objective_of(losses.create(loss)))

    def value(fitted):
        left = fitted.gp.left_out
        return np.mean(of_row(fitted.gp.y - left.mean, np.sqrt(left.variance))[0])

    assert value(fits[loss]) < value(fits["elbo"]) + 1e-6
    assert value(fits[loss]) < value(fits["direct-log"]) + 1e-6


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_is_a_number_of_equal_rows_to_the_last_bit(loss):
    X, y = table(25)
    count = np.random.default_rng(3).integers(0, 4, 25)
    often = np.repeat(np.arange(25), count)
    once = dg.fit(X, y, model=dg.Exact(), loss=loss, sample_weight=count)
    copied = dg.fit(X[often], y[often], model=dg.Exact(), loss=loss)
    shuffled = np.random.default_rng(4).permutation(often)
    moved = dg.fit(X[shuffled], y[shuffled], model=dg.Exact(), loss=loss)
    for other in (copied, moved):
        np.testing.assert_array_equal(once.predict(X).mean, other.predict(X).mean)
        np.testing.assert_array_equal(once.predict(X).std, other.predict(X).std)
        assert once.log_evidence == other.log_evidence
    np.testing.assert_array_equal(
        copied.left_out.log_prob, np.repeat(once.left_out.log_prob, count[count > 0])
    )
    assert "different)" in repr(copied)


def test_a_loss_without_a_spread_gets_that_of_its_errors(fits):
    left = fits["direct-square"].gp.left_out
    z = (fits["direct-square"].gp.y - left.mean) / np.sqrt(left.variance)
    assert np.mean(z**2) == pytest.approx(1.0, rel=1e-6)
    gp = fits["elbo"].gp
    wider = with_own_spread(gp)
    np.testing.assert_allclose(wider.left_out.mean, gp.left_out.mean, rtol=1e-6)
    ratio = wider.left_out.variance / gp.left_out.variance
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert determines_spread(Direct(Pinball((0.9,))))
    assert not determines_spread(Direct(Pinball((0.5,))))


def test_predicted_deviations_are_widened_by_what_the_direct_loss_hides():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 40))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=120)
    direct = dg.fit(X, y, model=dg.Exact())
    assert direct.spread == direct.optimism > 1.05
    _, variance = direct.gp.predict(direct.inputs.forward_inputs(X[:3]))
    expected = direct.optimism * np.sqrt(variance) * direct.targets.scale[0]
    np.testing.assert_allclose(direct.predict(X[:3]).std, expected)
    plain = stats.norm.logpdf(
        direct.gp.y, direct.gp.left_out.mean, np.sqrt(direct.gp.left_out.variance)
    )
    claimed = np.mean(direct.left_out.log_prob) + np.log(direct.targets.scale[0])
    assert claimed == pytest.approx(np.mean(plain) - np.log(direct.optimism))
    assert dg.fit(X, y, model=dg.Exact(), loss="elbo").spread == 1.0


def test_the_first_steps_see_some_rows(monkeypatch):
    X, y = table(60)
    seen = []

    def spy(*rows, **options):
        seen.append(options["learn_from"])
        return checked_regression(*rows, **options)

    monkeypatch.setattr(module, "checked_regression", spy)
    few = dg.fit(X, y, model=dg.Exact(learn_from=20))
    dg.fit(X, y, model=dg.Exact())
    assert seen == [20, 600]
    again = dg.fit(X, y, model=dg.Exact(learn_from=20))
    other = dg.fit(X, y, model=dg.Exact(learn_from=20), seed=1)
    np.testing.assert_array_equal(few.predict(X).mean, again.predict(X).mean)
    assert few.gp.log_noise != other.gp.log_noise


def test_a_prediction_does_not_depend_on_other_rows(fits):
    new = table(300, seed=2)[0]
    together = fits["direct-log"].predict(new)
    few = fits["direct-log"].predict(new[[299, 4]])
    np.testing.assert_array_equal(few.mean, together.mean[[299, 4]])
    np.testing.assert_array_equal(few.std, together.std[[299, 4]])


def test_hyperparameters_are_in_the_units_of_the_data(fits):
    found = fits["elbo"].hyperparameters(["time", "height"])
    inputs, gp = fits["elbo"].inputs, fits["elbo"].gp
    expected = np.exp(gp.kernel.log_parameters[:2]) * inputs.scale
    assert found["lengthscale"] == dict(zip(["time", "height"], expected.tolist(), strict=True))
    assert 2 < found["noise_std"] < 8
    # Slopes: f has the variance slope_std² of a step of one unit.
    there, here = inputs.forward_inputs(np.array([[6.0, 0.0], [5.0, 0.0]]))
    slope = np.exp(gp.kernel.log_parameters[-1]) / 2 * (there - here) @ (there - here)
    scale = fits["elbo"].targets.scale[0]
    assert found["slope_std"]["time"] == pytest.approx(np.sqrt(slope) * scale)


def test_the_kernel_in_jax_is_that_of_the_model(fits):
    gp = fits["elbo"].gp
    with jax.enable_x64(True):
        rows = jnp.asarray(gp.X)
        found = np.asarray(fits["elbo"].kernel.matrix(rows[:5], rows))
    np.testing.assert_allclose(found, gp.kernel.matrix(gp.X[:5], gp.X), rtol=1e-9)


def test_a_line_says_what_it_is(fits):
    assert repr(fits["elbo"]).startswith(
        "FittedExactRegression: 40 rows, 2 inputs, Matern52 + Linear; evidence; log evidence -1"
    )
    assert "leave-one-out CRPS" in repr(fits["direct-crps"])
    assert "\n" not in repr(fits["elbo"])


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_a_few_rows(rows):
    X, y = table(rows)
    for loss in LOSSES:
        found = dg.fit(X, y, model=dg.Exact(), loss=loss)
        assert np.isfinite(found.predict(X).std).all() and (found.predict(X).std > 0).all()
        assert np.isfinite(found.left_out.log_prob).all()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((6, 1)), np.arange(6.0)),
        (np.arange(6.0)[:, None], np.full(6, 3.0)),
        (np.ones((6, 1)), np.zeros(6)),
        (np.arange(6.0)[:, None] * 1e-200, np.arange(6.0) * 1e100),
    ],
)
def test_tables_without_information(X, y):
    for loss in ("elbo", "direct-log", "direct-square"):
        found = dg.fit(X, y, model=dg.Exact(), loss=loss).predict(X)
        assert np.isfinite(found.mean).all() and np.isfinite(found.std).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"beta": 0.5}, "beta has no effect on an exact GP, whose posterior is not trained, got"),
        ({"beta": [1.0, 0.1]}, "beta has no effect"),
        ({"beta": "pac-bayes"}, "beta has no effect"),
        ({"divergence": "renyi:alpha=0.5"}, "divergence has no effect"),
        ({"expectation": "closed-form"}, "expectation has no effect"),
        ({"hyperparameters": "from-elbo"}, "hyperparameters has no effect"),
        ({"validation": 0.1}, "validation has no effect"),
        ({"likelihood": "student-t"}, "has Gaussian noise, got StudentT; use model=Sparse"),
        ({"loss": "gibbs-square"}, "is fitted for loss='elbo'"),
        ({"loss": "direct-robust-beta"}, "is fitted for loss='elbo'"),
        ({"loss": "joint-log"}, "is fitted for loss='elbo'"),
        ({"training": dg.Training(epochs=3)}, "epochs=3 has no effect on an exact GP"),
        ({"training": dg.Training(batch_size=9)}, "batch_size=9 has no effect on an exact GP"),
        ({"training": dg.Training(time_budget=9)}, "time_budget=9 has no effect"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_what_has_no_meaning_is_refused_in_a_line(options, words):
    X, y = table(5)
    with pytest.raises(dg.DirectGPError, match=words) as caught:
        dg.fit(X, y, model=dg.Exact(), **options)
    assert "\n" not in str(caught.value)


def test_many_rows_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 30)
    X, y = table(31)
    with pytest.raises(dg.DirectGPError, match=r"up to 30 different rows, got 31; use model=Spa"):
        dg.fit(X, y, model=dg.Exact())
    twice = np.tile(np.arange(30), 2)
    assert len(dg.fit(X[twice], y[twice], model=dg.Exact()).gp.y) == 30


def test_other_doors_refuse_it_in_a_line():
    X, y = table(9)
    for call in (
        lambda: dg.fit(X, np.stack([y, y], axis=1), model=dg.Exact()),
        lambda: dg.fit_for_cost(X, y > y.mean(), dg.BinaryCost(1, 5), model=dg.Exact()),
        lambda: dg.FixedHyperparameters(dg.fit(X, y, model=dg.Exact())),
        lambda: dg.GPRegressor(inference="exact").fit(X, np.stack([y, y], axis=1)),
    ):
        with pytest.raises((dg.DirectGPError, TypeError), match=r"Exact|exact") as caught:
            call()
        assert "\n" not in str(caught.value)


def test_a_cost_of_numbers_is_trained_for():
    X, y = table(60)
    fitted = dg.fit_for_cost(X, y, dg.NewsvendorCost(under=4, over=1), model=dg.Exact())
    assert fitted.loss == Direct(Pinball((0.8,)))
    demand = dg.decide(fitted.predict(X), dg.NewsvendorCost(under=4, over=1)).action
    assert np.mean(y <= demand) > 0.7


def test_options_are_checked_before_a_fit():
    with pytest.raises(dg.DirectGPError, match="learn_from must be a whole number"):
        dg.Exact(learn_from=2.5)
    assert dg.Exact(learn_from=np.int64(7)) == dg.Exact(learn_from=7)
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_inducing'"):
        dg.Exact(num_inducing=7)
