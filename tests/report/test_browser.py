"""The page in a real browser: no errors, every figure seen, light and dark, on a phone's width."""

import json
import re
import shutil
import subprocess
from html import escape

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
WIDTHS = (360, 1100)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium on the PATH; your system has it as a package"
)

# Runs inside a wrapper page and looks at the reports in its frames.
LOOK = """
function light(colour) {
  const whole = colour.startsWith('color(') ? 1 : 255;  // mixed colours are given from 0 to 1
  const part = colour.match(/[\\d.]+/g).slice(0, 3).map(v => {
    v /= whole; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
  return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}
function contrast(a, b) {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); }
window.onload = () => {
  const found = [...document.querySelectorAll('iframe')].map(frame => {
    const page = frame.contentDocument, root = page.documentElement;
    const card = frame.contentWindow.getComputedStyle(page.querySelector('.card'));
    const style = node => frame.contentWindow.getComputedStyle(node);
    const charts = [...page.querySelectorAll('svg.chart')];
    const overlaps = charts.map(chart => {
      const box = chart.getBoundingClientRect();
      return [...chart.querySelectorAll('text')].filter(t => {
        const b = t.getBoundingClientRect();
        return b.left < box.left - 1 || b.right > box.right + 1; }).length; });
    return {
      name: frame.title, width: frame.clientWidth, scroll: root.scrollWidth,
      charts: charts.length,
      hidden: charts.filter(c => c.getBoundingClientRect().width < 200
                              || c.getBoundingClientRect().height < 60).length,
      cut: overlaps.reduce((a, b) => a + b, 0),
      boxes: [...page.querySelectorAll('.scroll')].filter(b => b.scrollWidth > b.clientWidth
        && style(b).overflowX !== 'auto').length,
      captions: [...page.querySelectorAll('caption')].filter(c =>
        c.getBoundingClientRect().right > c.closest('.scroll').getBoundingClientRect().right + 1
      ).length,
      contrast: Math.min(
        contrast(style(page.querySelector('figcaption')).color, card.backgroundColor),
        contrast(style(page.querySelector('.chart text')).fill, card.backgroundColor),
        contrast(style(page.querySelector('h1')).color, style(page.body).backgroundColor),
        contrast(style(page.querySelector('.verdict strong')).color,
                 style(page.querySelector('.verdict')).backgroundColor)),
      matrix: [...page.querySelectorAll('.matrix td')].map(cell => {
        cell.style.setProperty('--share', 1);  // the darkest shade that a cell can have
        return contrast(style(cell).color, style(cell).backgroundColor); }),
      marks: Math.min(...['line', 'dot', 'bar'].map(kind => page.querySelector('.chart .' + kind))
        .filter(Boolean).map(node => contrast(
          node.classList.contains('line') ? style(node).stroke : style(node).fill,
          card.backgroundColor))),
      background: style(page.body).backgroundColor };
  });
  document.body.innerHTML = '<pre id="found">' + JSON.stringify(found) + '</pre>';
};
"""


def browse(page, folder, *options):
    """What Chromium makes of a page: the document it ends with, and what it complained about."""
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}",
            "--window-size=1200,1000", *options, "--dump-dom", f"file://{page}",
        ],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def seen(pages, tmp_path_factory):
    """Every page in frames of both widths, looked at in light and in dark."""
    folder = tmp_path_factory.mktemp("browser")
    frames = [
        f'<iframe title="{name}" width="{width}" height="900" style="border:0" '
        f'srcdoc="{escape(re.sub("<meta http-equiv.*?>", "", page))}"></iframe>'
        for name, page in pages.items()
        for width in WIDTHS
    ]
    wrapper = folder / "wrapper.html"
    wrapper.write_text(
        f"<!doctype html><script>{LOOK}</script><body>{''.join(frames)}", encoding="utf-8"
    )
    found = {}
    for scheme, code in (("light", 1), ("dark", 0)):
        option = f"--blink-settings=preferredColorScheme={code}"
        document, complaints = browse(wrapper, folder, option)
        assert not complaints
        found[scheme] = json.loads(re.search(r'<pre id="found">(\[.*?)</pre>', document, re.S)[1])
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_figure_is_seen_whole_at_every_width(seen, scheme):
    assert len(seen[scheme]) == 10
    for page in seen[scheme]:
        assert page["charts"] >= 2, page
        assert page["hidden"] == 0 and page["cut"] == 0, page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_never_scrolls_sideways_wide_tables_do(seen, scheme):
    for page in seen[scheme]:
        assert page["scroll"] <= page["width"], page
        assert page["boxes"] == 0, page
        assert page["captions"] == 0, page


def test_light_and_dark_are_two_looks_and_both_are_readable(seen):
    for light, dark in zip(seen["light"], seen["dark"], strict=True):
        assert light["background"] != dark["background"]
        for page in (light, dark):
            assert page["contrast"] >= 4.5, page  # WCAG AA for text
            assert page["marks"] >= 3.0, page  # and for graphics
            assert all(cell >= 4.5 for cell in page["matrix"]), page
    for pages in seen.values():
        assert {len(p["matrix"]) for p in pages if p["name"] == "two classes"} == {4}


def test_the_page_itself_runs_without_a_complaint(pages, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(pages["comparison"], encoding="utf-8")
    document, complaints = browse(page, tmp_path)
    assert not complaints
    assert "</svg>" in document
