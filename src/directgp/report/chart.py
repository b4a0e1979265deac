"""Charts in SVG: axes, lines, bands, bars and dots, coloured by CSS classes.

Colours are in the style sheet, for light and dark mode. Every chart has a title and a text
alternative for screen readers.
"""

import itertools
import math
from html import escape

import numpy as np

from directgp.report.numbers import tick

_SERIAL = itertools.count(1)
_RIGHT, _TOP, _BOTTOM = 14, 12, 46


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between `low` and `high`, 1, 2, 2.5 or 5 times a power of ten apart.

    Args:
        low: the lower end of the axis.
        high: the upper end.
        count: the approximate number of ticks.

    >>> nice_ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / count
    if not (math.isfinite(raw) and raw > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12 - math.floor(math.log10(step))) for i in range(first, last + 1)]


class Chart:
    """One pair of axes in a box of 420 × 300 units; later marks are drawn above earlier ones.

    Every method that draws takes the CSS classes of the mark and a label for the legend (none if
    empty), and returns the chart.

    Args:
        x: range of the horizontal axis.
        y: range of the vertical axis.
        x_label: label of the horizontal axis.
        y_label: label of the vertical axis.
        height: height of the box.
        log_x: whether the horizontal axis is logarithmic.
        named_y: whether the vertical axis has ticks.
    """

    def __init__(
        self,
        x: tuple[float | int, float | int],
        y: tuple[float | int, float | int],
        *,
        x_label: str,
        y_label: str,
        height: int = 300,
        log_x: bool = False,
        named_y: bool = True,
    ) -> None:
        self._log = log_x
        low, high = float(x[0]), float(x[1])
        self._x = (math.log10(low), math.log10(high)) if log_x else _widened(low, high)
        self._y = _widened(float(y[0]), float(y[1]))
        self._labels = (_shortened(x_label, 40), _shortened(y_label, 26))
        self._size = (420, height)
        self._y_ticks = _labelled(nice_ticks(*self._y)) if named_y else []
        # Space for the longest label in the larger font of small screens.
        self._left = 14 + 22 * named_y + 8.6 * max((len(t) for _, t in self._y_ticks), default=0)
        self._marks: list[str] = []
        self._legend: list[tuple[str, str]] = []

    # ------------------------------------------------------------ marks

    def line(self, x, y, css: str, label: str = "") -> "Chart":
        """A line through the points; a gap where a value is not finite."""
        path, pen = [], "M"
        for at in zip(self._across(x), self._down(y), strict=True):
            if all(map(math.isfinite, at)):
                path.append(f"{pen}{at[0]:.1f} {at[1]:.1f}")
                pen = "L"
            else:
                pen = "M"
        self._marks.append(f'<path class="line {css}" d="{"".join(path)}"/>')
        return self._named(f"line {css}", label)

    def band(self, x, lower, upper, css: str, label: str = "") -> "Chart":
        """The area between two lines."""
        across = self._across(x)
        forth = [f"{a:.1f} {b:.1f}" for a, b in zip(across, self._down(lower), strict=True)]
        back = [f"{a:.1f} {b:.1f}" for a, b in zip(across, self._down(upper), strict=True)]
        self._marks.append(f'<path class="area {css}" d="M{"L".join(forth + back[::-1])}Z"/>')
        return self._named(f"area {css}", label)

    def bars(self, edges, heights, css: str, label: str = "", base=None) -> "Chart":
        """Bars between neighbouring edges, from `base` (0) up."""
        left = self._across(edges)
        base = np.zeros(len(heights)) if base is None else np.asarray(base)
        top, bottom = self._down(base + np.asarray(heights)), self._down(base)
        for a, b, t, d in zip(left[:-1], left[1:], top, bottom, strict=True):
            if d - t > 0.05:
                self._marks.append(
                    f'<rect class="bar {css}" x="{a + 0.75:.1f}" y="{t:.1f}" '
                    f'width="{max(b - a - 1.5, 0.5):.1f}" height="{d - t:.1f}"/>'
                )
        return self._named(f"bar {css}", label)

    def dots(
        self, x, y, css: str, label: str = "", radius: float | int = 2.4, names=None
    ) -> "Chart":
        """Dots with `names` as tooltips; no entry in the legend if there are none."""
        names = itertools.repeat(None) if names is None else names
        for a, b, name in zip(self._across(x), self._down(y), names, strict=False):
            tip = f"<title>{escape(name)}</title>" if name else ""
            self._marks.append(
                f'<circle class="dot {css}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}">{tip}</circle>'
                if tip
                else f'<circle class="dot {css}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}"/>'
            )
        return self._named(f"dot {css}", label if len(x) else "")

    def spans(self, x, lower, upper, css: str, label: str = "") -> "Chart":
        """Vertical error bars."""
        ends = zip(self._across(x), self._down(lower), self._down(upper), strict=True)
        path = "".join(f"M{a:.1f} {low:.1f}V{high:.1f}" for a, low, high in ends)
        self._marks.append(f'<path class="line {css}" d="{path}"/>')
        return self._named(f"line {css}", label)

    def sideways(self, y, lower, upper, css: str) -> "Chart":
        """Horizontal error bars."""
        ends = zip(self._down(y), self._across(lower), self._across(upper), strict=True)
        path = "".join(f"M{low:.1f} {b:.1f}H{high:.1f}" for b, low, high in ends)
        self._marks.append(f'<path class="line {css}" d="{path}"/>')
        return self

    def level(self, y: float, css: str = "guide", label: str = "") -> "Chart":
        """A horizontal line across the chart."""
        across = (10 ** self._x[0], 10 ** self._x[1]) if self._log else self._x
        return self.line(across, (y, y), css, label)

    def note(self, x: float | int, y: float, text: str, anchor: str = "start") -> "Chart":
        """Text inside the chart."""
        a, b = self._across([x])[0], self._down([y])[0]
        self._marks.append(
            f'<text class="note" x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )
        return self

    def _named(self, css: str, label: str) -> "Chart":
        if label:
            self._legend.append((css, label))
        return self

    # ------------------------------------------------------------ the picture

    def figure(self, title: str, shows: str, caption: str) -> str:
        """The `<figure>`: heading, image with text alternative, legend, caption.

        Args:
            title: the heading.
            shows: the text alternative, with the numbers that the image shows.
            caption: how to read the figure.
        """
        serial = next(_SERIAL)
        width, height = self._size
        legend = "".join(
            f'<li><svg class="swatch" viewBox="0 0 24 12" aria-hidden="true">{_swatch(css)}</svg>'
            f"{escape(label)}</li>"
            for css, label in self._legend
        )
        legend = f'<ul class="legend">{legend}</ul>' if legend else ""
        return (
            f'<figure class="card"><h3>{escape(title)}</h3>'
            f'<svg class="chart" role="img" viewBox="0 0 {width} {height}" '
            f'aria-labelledby="t{serial} d{serial}">'
            f'<title id="t{serial}">{escape(title)}</title>'
            f'<desc id="d{serial}">{escape(shows)}</desc>'
            f'<clipPath id="c{serial}"><rect x="{self._left - 5:.1f}" y="{_TOP - 6}" '
            f'width="{width - self._left - _RIGHT + 10:.1f}" '
            f'height="{height - _TOP - _BOTTOM + 12}"/></clipPath>'
            f'{self._axes()}<g clip-path="url(#c{serial})">{"".join(self._marks)}</g></svg>'
            f"{legend}<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def _axes(self) -> str:
        width, height = self._size
        bottom, out = height - _BOTTOM, []
        left = f"{self._left:.1f}"
        for value, label in self._y_ticks:
            at = self._down([value])[0]
            out.append(
                f'<path class="grid" d="M{left} {at:.1f}H{width - _RIGHT}"/>'
                f'<text class="tick" x="{self._left - 6:.1f}" y="{at + 4:.1f}" text-anchor="end">'
                f"{label}</text>"
            )
        for place, label in self._x_ticks():
            out.append(
                f'<text class="tick" x="{place:.1f}" y="{bottom + 17}" text-anchor="middle">'
                f"{label}</text>"
            )
        out.append(f'<path class="axis" d="M{left} {bottom}H{width - _RIGHT}"/>')
        middle = (_TOP + bottom) / 2
        across = (self._left + width - _RIGHT) / 2
        x_label, y_label = (escape(label) for label in self._labels)
        out.append(
            f'<text class="name" x="{across:.1f}" y="{height - 8}" text-anchor="middle">'
            f"{x_label}</text>"
            f'<text class="name" transform="translate(14 {middle}) rotate(-90)" '
            f'text-anchor="middle">{y_label}</text>'
        )
        return "".join(out)

    def _x_ticks(self) -> list[tuple[float, str]]:
        if self._log:
            low, high = math.ceil(self._x[0] - 1e-9), math.floor(self._x[1] + 1e-9)
            powers = range(low, high + 1, max(1, (high - low) // 5))
            return [(self._across([10.0**p])[0], _power(p)) for p in powers]
        return [(self._across([v])[0], label) for v, label in _labelled(nice_ticks(*self._x))]

    def _across(self, x) -> list[float]:
        values = np.asarray(x, dtype=np.float64)
        values = np.log10(values) if self._log else values
        room = self._size[0] - self._left - _RIGHT
        return (self._left + room * _share(values, *self._x)).tolist()

    def _down(self, y) -> list[float]:
        room = self._size[1] - _TOP - _BOTTOM
        share = _share(np.asarray(y, dtype=np.float64), *self._y)
        return (self._size[1] - _BOTTOM - room * share).tolist()


def _share(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Where values are between the ends of an axis, 0 at the lower and 1 at the upper end.

    Marks far outside are clipped, to avoid huge coordinates in the file.
    """
    # Of halves: the difference of two large numbers of opposite signs would be infinite.
    return np.clip((values / 2 - low / 2) / (high / 2 - low / 2), -2.0, 3.0)


def limits(*arrays, margin: float = 0.05) -> tuple[float, float]:
    """The range of all finite values, extended by a margin on both sides."""
    values = np.concatenate([np.ravel(np.asarray(a, dtype=np.float64)) for a in arrays])
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room, most = margin * (high - low), float(np.finfo(np.float64).max)
    return max(low - room, -most), min(high + room, most)


def _labelled(values: list[float]) -> list[tuple[float, str]]:
    step = values[1] - values[0] if len(values) > 1 else 1.0
    return [(value, tick(value, step)) for value in values]


def _shortened(text: str, most: int) -> str:
    """A label that fits along its axis; tables and descriptions have it in full."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _widened(low: float, high: float) -> tuple[float, float]:
    if high > low:
        return low, high
    room = 0.5 * abs(low) or 0.5
    return low - room, low + room


def _power(exponent: int) -> str:
    if -2 <= exponent <= 3:
        return f"{10.0**exponent:g}"
    return f'10<tspan dy="-5" class="small">{str(exponent).replace("-", "−")}</tspan>'


def _swatch(css: str) -> str:
    kind = css.split()[0]
    if kind == "line":
        return f'<path class="{css}" d="M1 6H23"/>'
    if kind == "dot":
        return f'<circle class="{css}" cx="12" cy="6" r="4"/>'
    return f'<rect class="{css}" x="2" y="1" width="20" height="10"/>'
