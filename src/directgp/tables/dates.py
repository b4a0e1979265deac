"""Dates and times as numbers: a trend in years, and cyclic positions in year, week and day.

A cyclic position is encoded as sine and cosine of its angle.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from jaxtyping import Float

from directgp.tables.arrow_values import Where, is_date_or_time, is_text, microseconds, plain
from directgp.tables.messages import TableError, one_line

_DAY = np.timedelta64(1, "D")
_LEAST_SPAN = 30 * _DAY
"""Over a shorter span the position in the year is almost linear in the trend."""

ISO, TIME = "ISO", "time"
_ZONES = {ISO: (None, "UTC"), TIME: (None,)}
"""Formats that Arrow reads by itself: without a time zone, or with one."""
_LOOKS = {ISO: r"^\d{4}-\d", TIME: r"^\d{1,2}:\d"}
_FIRST_DAY = "1970-01-01 "
_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y")
FORMATS = (*_ZONES, *_FORMATS)
"""All date formats that are recognised."""
_AMBIGUOUS = {"%m/%d/%Y", "%d/%m/%Y"}
_MOSTLY = 0.5


def _year_and_place(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    year = times.astype("datetime64[Y]")
    start, end = year.astype("datetime64[us]"), (year + 1).astype("datetime64[us]")
    return year.astype(np.int64) + 1970.0, (times - start) / (end - start)


def _years(times: np.ndarray) -> np.ndarray:
    year, place = _year_and_place(times)
    return year + place


def _of_year(times: np.ndarray) -> np.ndarray:
    return _year_and_place(times)[1]


def _of_week(times: np.ndarray) -> np.ndarray:
    # 1 January 1970 was a Thursday; Monday is 0.
    return ((times.astype("datetime64[D]").astype(np.int64) + 3) % 7) / 7.0


def _of_day(times: np.ndarray) -> np.ndarray:
    return (times - times.astype("datetime64[D]")) / _DAY


def _on_circle(place: Callable[[np.ndarray], np.ndarray], wave: Callable) -> Callable:
    return lambda times: wave(2 * np.pi * place(times))


ALL_PARTS: dict[str, Callable[[np.ndarray], Float[np.ndarray, "N"]]] = {
    "years": _years,
    "year sin": _on_circle(_of_year, np.sin),
    "year cos": _on_circle(_of_year, np.cos),
    "week sin": _on_circle(_of_week, np.sin),
    "week cos": _on_circle(_of_week, np.cos),
    "day sin": _on_circle(_of_day, np.sin),
    "day cos": _on_circle(_of_day, np.cos),
}
"""The encoded parts of a date: name to function of datetime64[us]."""


def varying_parts(times: np.ndarray, times_only: bool) -> tuple[str, ...]:
    """The parts that vary among these dates.

    Years for several dates, the position in the year from a span of 30 days on, in the week for
    several weekdays, in the day for several times of day.

    Args:
        times: datetime64[us] of the known training rows.
        times_only: whether they are times of day, which have no year.

    Returns:
        Keys of `ALL_PARTS`.
    """
    if len(times) == 0 or np.all(times == times[0]):
        return ()
    groups = {
        ("years",): not times_only,
        ("year sin", "year cos"): np.ptp(times) >= _LEAST_SPAN,
        ("week sin", "week cos"): np.ptp(_of_week(times)) > 0,
        ("day sin", "day cos"): np.ptp(_of_day(times)) > 0,
    }
    return tuple(part for group, varies in groups.items() if varies for part in group)


def _parsed(text: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    """Dates; null where the text does not follow the format."""
    if form not in _ZONES:
        options = compute.StrptimeOptions(format=form, unit="us", error_is_null=True)
        return compute.call_function("strptime", [text], options)
    kinds = [pa.timestamp("us", zone) for zone in _ZONES[form]]
    # Preselect by a pattern, because trying many texts one by one is slow.
    options = compute.MatchSubstringOptions(_LOOKS[form])
    likely = compute.call_function("match_substring_regex", [text], options)
    text = compute.call_function("if_else", [likely, text, pa.scalar(None, text.type)])
    if form == TIME:  # Arrow needs a date before the time of day, and two digits of the hour
        options = compute.ReplaceSubstringOptions(r"^(\d):", r"0\1:")
        text = compute.call_function("replace_substring_regex", [text], options)
        parts = [pa.scalar(_FIRST_DAY, text.type), text, pa.scalar("", text.type)]
        text = compute.call_function("binary_join_element_wise", parts)
    try:
        return text.cast(kinds[0])
    except pa.ArrowInvalid:  # some are invalid: cast one by one
        read = [_cast(each, kinds) for each in text.to_pylist()]
        return pa.chunked_array([pa.array(read, pa.int64()).cast(kinds[0])])


def _cast(text: str | None, kinds: list[pa.DataType]) -> int | None:
    for kind in kinds if text is not None else ():
        try:
            return pa.scalar(text).cast(kind).cast(pa.int64()).as_py()
        except pa.ArrowInvalid:
            continue
    return None


def _share_read(text: pa.ChunkedArray, form: str) -> float:
    return 1.0 - _parsed(text, form).null_count / max(len(text), 1)


class DateFormat(NamedTuple):
    """The format of dates in text, and the share of the distinct texts that follow it."""

    form: str
    share: float
    ambiguous: bool = False
    """Whether both day/month and month/day are possible."""


def date_format(column: pa.ChunkedArray) -> DateFormat | None:
    """The format that parses most of a text column; None if none does, or it is not text.

    If month/day and day/month are both possible, month/day is chosen.
    """
    if not is_text(column.type):
        return None
    text = pa.chunked_array([plain(column).drop_null().unique()])
    shares = {form: _share_read(text, form) for form in FORMATS}
    best = max(shares, key=lambda form: shares[form])
    both = {form for form, share in shares.items() if share == shares[best]} >= _AMBIGUOUS
    return DateFormat(best, shares[best], both) if shares[best] > 0 else None


def text_format(column: pa.ChunkedArray) -> str | None:
    """The date format of a text column; None if fewer than half of its distinct texts are dates."""
    found = date_format(column)
    return found.form if found is not None and found.share >= _MOSTLY else None


def read_dates(
    column: pa.ChunkedArray, form: str | None, where: Where, strays: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """A column as dates.

    Args:
        column: dates, or text.
        form: the format of text; None finds it.
        where: the column name and row offset for error messages.
        strays: whether text that is not a date counts as missing, instead of being an error.

    Returns:
        datetime64[us] of every row, and which rows are known.
    """
    column = plain(column)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), "datetime64[us]"), np.zeros(len(column), bool)
    if is_text(column.type):
        read = _parsed(column, form or text_format(column) or ISO)
        if read.null_count > column.null_count and not strays:
            lost = (read.is_null().to_numpy()) & (column.is_valid().to_numpy())
            first = int(np.argmax(lost))
            raise TableError(
                f"column {where.column!r} holds dates or times, but {where.row(first)} has "
                f"{one_line(column[first].as_py(), 40)!r} ({int(lost.sum())} such values); "
                "write dates as 2024-12-31, correct them or leave them empty"
            )
        column = read
    if not is_date_or_time(column.type):
        raise TableError(
            f"column {where.column!r} must hold dates or times, got {column.type}; "
            "write dates as 2024-12-31"
        )
    return microseconds(column)
