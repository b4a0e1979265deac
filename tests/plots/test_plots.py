"""Pictures: complete (titles, labels), true to the numbers, and without global state."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from matplotlib.axes import Axes

from directgp import GaussianMixture, metrics, plots

ROWS = 200


@pytest.fixture
def calibrated(rng):
    """A predictive, its input, and targets that really come from it."""
    x = rng.uniform(-2, 2, ROWS)
    predictive = GaussianMixture(np.sin(x)[None], np.full((1, ROWS), 0.25), np.zeros(1))
    return x, predictive, predictive.sample(1, seed=0)[0]


HISTORY = {
    "step": [50, 100, 150],
    "objective": [1.3, 1.0, 0.9],
    "risk": [1.2, 0.8, 0.7],
    "penalty": [0.1, 0.2, 0.2],
    "validation": [1.1, 0.9, 0.95],
}
CURVE = {10.0: 0.9, 1.0: 0.5, 0.1: 0.4, 0.01: 0.6}


def draw(name, calibrated, axes=None) -> Axes:
    x, predictive, y = calibrated
    arguments = {
        "band": (x, predictive),
        "local_score": (x, metrics.row_scores(predictive, y)["nll"]),
        "pit_histogram": (predictive, y),
        "coverage": (predictive, y),
        "learning_curve": (HISTORY,),
        "beta_curve": (CURVE,),
    }
    return getattr(plots, name)(*arguments[name], axes=axes)


NAMES = ["band", "local_score", "pit_histogram", "coverage", "learning_curve", "beta_curve"]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_says_what_it_shows_and_can_be_written(name, calibrated, tmp_path):
    axes = draw(name, calibrated)
    assert axes.get_title() and axes.get_xlabel() and axes.get_ylabel()
    axes.figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000


@pytest.mark.parametrize("name", NAMES)
def test_pictures_combine_on_given_axes(name, calibrated):
    axes = draw("band", calibrated)
    assert draw(name, calibrated, axes) is axes


def test_every_plot_is_tested():
    public = [n for n, f in vars(plots).items() if callable(f) and f.__module__ == plots.__name__]
    assert sorted(n for n in public if not n.startswith("_")) == sorted(NAMES)


def test_pyplot_is_never_imported(calibrated):
    for name in NAMES:
        draw(name, calibrated)
    assert "matplotlib.pyplot" not in sys.modules


def test_the_band_is_the_interval_whatever_the_order_of_x(calibrated):
    x, predictive, _ = calibrated
    axes = plots.band(x[:, None], predictive, levels=[0.5, 0.9], label="model")
    line = axes.get_lines()[0]
    order = np.argsort(x)
    np.testing.assert_array_equal(line.get_xdata(), x[order])
    np.testing.assert_array_equal(line.get_ydata(), predictive.mean[order])
    outer, inner = (area.get_paths()[0].vertices[:, 1] for area in axes.collections)
    assert outer.min() == pytest.approx(predictive.interval(0.9)[0].min())
    assert inner.max() == pytest.approx(predictive.interval(0.5)[1].max())
    assert axes.get_legend_handles_labels()[1] == [
        "model: 90% interval",
        "model: 50% interval",
        "model: mean",
    ]


def test_local_scores_average_to_the_score(calibrated):
    x, predictive, y = calibrated
    scores = metrics.row_scores(predictive, y)["crps"]
    axes = plots.local_score(x, scores, num_bins=10)
    heights = axes.get_lines()[0].get_ydata()
    assert len(heights) == 10
    assert np.mean(heights) == pytest.approx(metrics.crps(predictive, y))


def test_a_calibrated_model_is_flat_and_on_the_diagonal(calibrated):
    _, predictive, y = calibrated
    bars = [patch.get_height() for patch in plots.pit_histogram(predictive, y, num_bins=4).patches]
    assert max(bars[:4]) < 1.4 and min(bars[:4]) > 0.6
    line = plots.coverage(predictive, y).get_lines()[1]
    assert np.max(np.abs(line.get_xdata() - line.get_ydata())) < 0.1


def test_the_learning_curve_shows_its_parts_and_skips_what_is_missing():
    labels = plots.learning_curve(HISTORY).get_legend_handles_labels()[1]
    assert [label.split()[0] for label in labels] == ["penalty", "objective", "risk", "validation"]
    without = plots.learning_curve(HISTORY | {"validation": []}).get_legend_handles_labels()[1]
    assert len(without) == 3


def test_the_choice_of_beta_is_marked():
    axes = plots.beta_curve(CURVE)
    assert axes.get_legend_handles_labels()[1] == ["chosen: β = 0.1"]
    assert plots.beta_curve(CURVE, chosen=1.0).get_legend_handles_labels()[1] == ["chosen: β = 1"]
    assert plots.beta_curve({0.0: 0.3, 1.0: 0.4}).get_xscale() == "symlog"


def test_errors_say_what_to_do(calibrated):
    x, predictive, _ = calibrated
    with pytest.raises(ValueError, match=r"one input for each of 200 rows.*X\[:, 0\]"):
        plots.band(np.zeros((ROWS, 2)), predictive)
    with pytest.raises(ValueError, match="num_bins must be between 1 and the 200 rows"):
        plots.local_score(x, np.zeros(ROWS), num_bins=201)
    with pytest.raises(ValueError, match="beta='auto'"):
        plots.beta_curve({})


def test_a_fit_in_place_of_what_it_says_is_refused_in_one_line():
    """In a process of its own: in the tests (and only there) the signatures refuse some of it."""
    script = """
        import numpy as np
        from directgp import GaussianMixture, metrics, plots
        class FittedGP: ...
        p, y = GaussianMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1)), np.zeros(3)
        for draw, words in (
            (lambda: plots.band(y, FittedGP()), "got FittedGP; give x first, then the predictive"),
            (lambda: plots.band(p, y), "got ndarray; give x first, then the predictive"),
            (lambda: plots.coverage(FittedGP(), y), "got FittedGP; give it first, then y"),
            (lambda: plots.pit_histogram(y, p), "got ndarray; give it first, then y"),
            (lambda: plots.learning_curve(FittedGP()), "got FittedGP; give fitted.history"),
            (lambda: plots.beta_curve(FittedGP()), "got FittedGP; give fitted.beta_curve"),
            (lambda: plots.local_score(y, metrics.row_scores(p, y)), "got dict"),
            (lambda: plots.local_score(y, p), "got GaussianMixture"),
        ):
            try:
                draw()
            except TypeError as error:
                assert words in str(error) and "\\n" not in str(error), error
            else:
                raise AssertionError(words)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
