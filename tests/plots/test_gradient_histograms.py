"""The histograms of gradient estimates: a row for each estimator, true to its numbers."""

import numpy as np
import pytest

from directgp.plots import gradient_histograms
from directgp.theory import GradientStatistics


def _statistics(rng, bias):
    return GradientStatistics(
        direction=rng.normal(1.0, 0.1, 40),
        size=rng.normal(1.2, 0.1, 40),
        bias=bias + rng.normal(0.0, 0.1, 25),
        standard_error=np.full(25, 0.1),
        reference=np.ones(25),
    )


def test_a_row_for_each_estimator_with_columns_that_share_their_axis(rng):
    figure = gradient_histograms({"bMC-5": _statistics(rng, 3.0), "uPS-5": _statistics(rng, 0.0)})
    figure.draw_without_rendering()
    assert len(figure.axes) == 6
    assert [axes.get_ylabel() for axes in figure.axes] == ["bMC-5", "", "", "uPS-5", "", ""]
    assert [sum(bar.get_height() for bar in axes.patches) for axes in figure.axes] == [
        40, 40, 25, 40, 40, 25
    ]  # fmt: skip
    assert "bias" in figure.axes[2].get_title()
    assert figure.axes[2].get_xlim() == figure.axes[5].get_xlim()


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="give at least one name"):
        gradient_histograms({})
