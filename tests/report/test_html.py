"""The page as a document: whole, safe, silent on the network, readable without its pictures."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from directgp.report import comparison_report, evaluation_report, report_of_targets
from directgp.report.chart import Chart, limits, nice_ticks
from directgp.report.figures_numbers import coverage_curve

VOID = {"meta", "link"}


class Reader(HTMLParser):
    """Checks nesting, and keeps what a screen reader would be told."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.headings, self.found = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.found.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


def read(page):
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def assert_whole(page):
    """Every tag closed, one headline, figures drawn, and no coordinate that is not a number."""
    reader = read(page)
    assert reader.headings.count(1) == 1 and reader.all("svg")
    for tag in ("path", "circle", "line", "rect", "text"):
        for attributes in reader.all(tag):
            assert not re.search(r"\b(nan|inf)\b", " ".join(map(str, attributes.values())))


KINDS = ["numbers", "counts", "two classes", "many classes", "comparison"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole_and_its_ids_are_unique(pages, kind):
    reader = read(pages[kind])
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.headings[0] == 1 and reader.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(reader.headings, reader.headings[1:], strict=False))
    assert reader.all("html")[0]["lang"] == "en"


@pytest.mark.parametrize("kind", KINDS)
def test_users_strings_are_only_ever_text(pages, kind):
    reader = read(pages[kind])
    assert not reader.all("script")
    assert "<script" not in pages[kind]
    assert "&lt;script&gt;" in pages[kind]
    assert not [attrs for _, attrs in reader.found for name in attrs if name.startswith("on")]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded(pages, kind):
    assert not re.search(r"https?://|src=|@import|url\((?!#c\d)", pages[kind])
    policy = [m for m in read(pages[kind]).all("meta") if m.get("http-equiv")]
    assert "default-src 'none'" in policy[0]["content"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_says_in_numbers_what_it_shows(pages, kind):
    charts = re.findall(r'<svg class="chart".*?</svg>', pages[kind], re.DOTALL)
    assert charts
    for chart in charts:
        label = re.search(r'role="img" .*?aria-labelledby="(\w+) (\w+)"', chart)
        title = re.search(rf'<title id="{label[1]}">(.*?)</title>', chart)[1]
        shows = re.search(rf'<desc id="{label[2]}">(.*?)</desc>', chart)[1]
        assert title and len(re.findall(r"\d", shows)) >= 3
    for other in re.findall(r"<svg (?!class=\"chart\")[^>]*>", pages[kind]):
        assert 'aria-hidden="true"' in other


@pytest.mark.parametrize("kind", KINDS)
def test_tables_have_captions_and_headings_and_scroll_in_their_own_box(pages, kind):
    tables = re.findall(r'<div class="scroll"[^>]*>\s*<table.*?</table>', pages[kind], re.DOTALL)
    assert len(tables) == pages[kind].count("<table")
    for table in tables:
        assert "<caption>" in table and 'scope="col"' in table and 'scope="row"' in table
        assert 'tabindex="0"' in table and "aria-label" in table


@pytest.mark.parametrize("kind", KINDS)
def test_no_number_is_broken(pages, kind):
    assert not re.search(
        r"\b(nan|inf|None)\b", re.sub(r"<style>.*?</style>", "", pages[kind], flags=re.S)
    )


def test_the_worst_row_is_first(make):
    judged = make.numbers()
    worst = int(np.argmin(judged.predictive.log_prob(judged.y)))
    rows = evaluation_report(judged, make.rows_of(judged)).split("Rows with the largest NLL")[1]
    assert re.search(r'<th scope="row">row ([\d,]+)</th>', rows)[1] == f"{worst + 1:,}"


def test_no_contender_is_left_out_of_the_coverage_figure(make):
    values = np.random.default_rng(0).uniform(size=(7, 50))
    figure = coverage_curve({f"model {k}": own for k, own in enumerate(values)})
    shows = re.search(r"<desc.*?>(.*?)</desc>", figure)[1]
    for k in range(7):
        assert f"model {k}: 50% intervals hold" in shows
        assert f"</svg>model {k}</li>" in figure
    looks = re.findall(r'class="line (one|two|three|four|five|six)" d="M', figure)
    assert len(looks) == 14 and len(set(looks)) == 6  # drawn, and in the legend


def test_hints_are_said_in_plain_words_and_nothing_without_one(make):
    judged = make.numbers()
    table = make.rows_of(judged)
    assert "Hint:" not in evaluation_report(judged, table)
    hinted = replace(table, hints=("2 of <9> values are far out", "--epochs 20 may help"))
    for page in (
        evaluation_report(judged, hinted),
        report_of_targets([(judged, hinted), (judged, hinted)]),
        comparison_report([judged, replace(judged, name="b")], hinted),
    ):
        assert page.count("Hint:") == 2
        assert "2 of &lt;9&gt; values are far out." in page


def test_what_to_beware_of_is_said(make):
    judged = make.numbers()
    table = make.rows_of(judged)
    warned = type(table)(table.name, warning="these rows were trained on")
    assert "these rows were trained on" in evaluation_report(judged, warned)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_very_few_rows_still_make_a_page(make, rows):
    judged = make.numbers(rows=rows)
    assert_whole(evaluation_report(judged, make.rows_of(judged)))


def test_constant_truth_and_extreme_scales_still_make_a_page(make):
    judged = make.numbers(rows=40)
    for scale, shift in ((1e-12, 0.0), (1e12, -1e15), (0.0, 5.0)):
        y = scale * judged.y + shift
        predictive = judged.predictive.affine(scale or 1.0, shift)
        assert_whole(evaluation_report(type(judged)("m", predictive, y), make.rows_of(judged)))


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.2, 7.9), (1e-9, 2e-9), (0.0, 1e12), (5.0, 5.0)])
def test_ticks_are_few_round_and_inside(ends):
    ticks = nice_ticks(*ends)
    assert 1 <= len(ticks) <= 8
    assert all(ends[0] - 1e-9 <= t <= ends[1] + 1e-9 * abs(ends[1]) for t in ticks)


def test_a_line_breaks_where_a_value_is_missing():
    chart = Chart((0, 3), (0, 1), x_label="x", y_label="y")
    drawn = chart.line([0.0, 1.0, 2.0, 3.0], [0.0, np.nan, 1.0, 1.0], "one").figure("t", "d", "c")
    assert re.search(r'<path class="line one" d="([^"]*)"', drawn)[1].count("M") == 2


def test_the_range_of_an_axis_may_be_larger_than_any_number():
    x = np.array([-1.7e308, 0.0, 1.7e308])
    chart = Chart(limits(x), limits(x), x_label="x", y_label="y").line(x, x, "one")
    page = chart.dots(x, x, "one").figure("title", "shown", "caption")
    places = [float(place) for place in re.findall(r'c[xy]="([^"]+)"', page)]
    assert len(places) == 6 and np.isfinite(places).all()
    assert "inf" not in page and "nan" not in page
