"""One thing has one number on a page, and charts hold what they draw."""

import re
from dataclasses import replace

import numpy as np
import pytest

from directgp import metrics
from directgp.report import Table, evaluation_report
from directgp.report.chart import Chart
from directgp.report.figures_numbers import against_truth
from directgp.report.findings import calibrated
from directgp.report.judged import LEVEL, scores_with_errors
from directgp.report.numbers import percent


def test_the_coverage_of_counts_is_that_of_the_headline(make):
    judged = make.counts()
    share, error = scores_with_errors(judged.predictive, judged.y)["coverage"]
    values = metrics.randomised_pit(judged.predictive, judged.y, seed=0)
    inside = ((values >= 0.05) & (values <= 0.95)).mean()
    assert share == pytest.approx(inside)
    assert error == pytest.approx(np.sqrt(inside * (1 - inside) / (len(judged.y) - 1)))
    assert metrics.coverage(judged.predictive, judged.y, LEVEL) > share  # closed intervals
    measured = calibrated(judged.predictive, judged.y).measured[1]
    assert measured == f"{percent(share)} ± {percent(error)}"
    page = evaluation_report(judged, Table("t")).replace("&nbsp;", " ")
    line = re.search(r'<th scope="row">Coverage</th>.*?</tr>', page)[0]
    assert f"<td>{percent(share)} ± {percent(error)}</td>" in line
    assert "randomised PIT" in line


def test_the_coverage_of_numbers_is_that_of_their_intervals(make):
    judged = make.numbers()
    found = scores_with_errors(judged.predictive, judged.y)
    assert found == metrics.score_table_with_errors(judged.predictive, judged.y, LEVEL)
    page = evaluation_report(judged, Table("t"))
    assert "randomised" not in page


def test_bars_stay_inside_the_chart(make):
    judged = make.counts()
    drawn = against_truth(judged, "y")
    (path,) = re.findall(r'<path class="line thin" d="(M[^"]*M[^"]*)"', drawn)
    ends = np.array(re.findall(r"M\S+ (\S+?)V([^M]+)", path), dtype=float)
    assert len(ends) == 260
    assert ends.min() >= 12 and ends.max() <= 300 - 46


def test_the_legend_names_only_what_is_drawn(make):
    judged = make.numbers()
    assert ">outside</li>" in against_truth(judged, "y")
    exact = replace(judged, y=judged.predictive.mean)
    assert ">outside</li>" not in against_truth(exact, "y")


def test_ticks_in_thousands_have_no_idle_zeros():
    chart = Chart((0, 8000), (0, 10000), x_label="x", y_label="y").line((0, 1), (0, 1), "one")
    drawn = chart.figure("a", "b", "c")
    assert {"2k", "8k", "10k"} <= set(re.findall(r'class="tick"[^>]*>([^<]*)<', drawn))
    wide = Chart((0, 8000), (0, 12000), x_label="x", y_label="y").figure("a", "b", "c")
    assert {"2.5k", "5k", "7.5k", "10k"} <= set(re.findall(r'class="tick"[^>]*>([^<]*)<', wide))


def test_a_table_that_scrolls_shows_a_shade_in_light_and_dark(pages):
    style = pages["numbers"].split("</style>")[0]
    assert style.count("--edge: rgba") == 2
    assert "local, local, scroll, scroll" in style
