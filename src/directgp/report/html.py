"""HTML elements of a report; every string of the user is escaped here and nowhere else."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import Any

_SERIAL = itertools.count(1)


def text(value: Any, most: int = 300) -> str:
    """Any value as escaped HTML, without control characters.

    Args:
        value: the value.
        most: the maximum number of characters.
    """
    shown = "".join(c if c.isprintable() else " " for c in str(value))
    safe = escape(shown if len(shown) <= most else shown[: most - 1] + "…")
    return safe.replace(" %", "&nbsp;%").replace("± ", "±&nbsp;")


def prose(value: Any) -> str:
    """Sentences as escaped HTML, not cut."""
    return text(value, most=10_000)


def page(title: str, header: str, body: str) -> str:
    """A self-contained document, whose Content-Security-Policy forbids loading anything.

    Args:
        title: the title of the page, as text.
        header: HTML above the sections.
        body: HTML of the sections.
    """
    style = files("directgp.report").joinpath("style.css").read_text("utf-8")
    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'\">\n"
        f'<link rel="icon" href="data:,">\n<title>{text(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header class="top">{header}</header>\n<main>\n{body}\n</main>\n'
        f"<footer>Made by directgp on {text(made)}. This file is self-contained.</footer>\n"
        "</body>\n</html>\n"
    )


def section(title: str, *parts: str, intro: str = "") -> str:
    """A section of the page.

    Args:
        title: its heading, as text.
        *parts: HTML.
        intro: a text below the heading.
    """
    serial = next(_SERIAL)
    lead = f'<p class="soft">{prose(intro)}</p>' if intro else ""
    return (
        f'<section aria-labelledby="s{serial}"><h2 id="s{serial}">{text(title)}</h2>{lead}'
        f"{''.join(parts)}</section>"
    )


def side_by_side(figures: Iterable[str], columns: int = 2) -> str:
    """Figures in as many columns as fit, at most 2 or 3."""
    return f'<div class="grid{columns}">{"".join(figures)}</div>'


def tiles(items: Iterable[tuple[str, str, str]]) -> str:
    """Headline numbers as tiles: name, value, meaning."""
    cells = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd><dd>{text(meaning)}</dd></div>"
        for name, value, meaning in items
    )
    return f'<dl class="tiles">{cells}</dl>'


def verdict(tone: str, *sentences: tuple[str, str]) -> str:
    """A coloured box of sentences, each as (bold text, text)."""
    lines = "".join(
        f"<p><strong>{prose(bold)}</strong> {prose(rest)}</p>" for bold, rest in sentences
    )
    return f'<div class="verdict {tone}">{lines}</div>'


def warning(sentence: str) -> str:
    """A warning box; empty for an empty sentence."""
    return verdict("warn", ("Warning:", sentence)) if sentence else ""


def hints(sentences: Sequence[str]) -> str:
    """A box with suggestions of what to try next; empty without sentences."""
    lines = [("Hint:", f"{sentence[:1].upper()}{sentence[1:]}.") for sentence in sentences]
    return verdict("plain", *lines) if lines else ""


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    chosen: int | None = None,
    wordy: Sequence[int] = (),
) -> str:
    """A scrollable table.

    Args:
        caption: its caption.
        columns: headings.
        rows: cells; the first of a row is its heading.
        chosen: the index of a row to mark.
        wordy: indices of columns of text.
    """
    head = "".join(
        f'<th scope="col"{" class=text" if i in wordy else ""}>{text(column)}</th>'
        for i, column in enumerate(columns)
    )
    body = []
    for number, (first, *rest) in enumerate(rows):
        cells = "".join(
            f'<td class="text">{text(v)}</td>' if i in wordy else f"<td>{text(v)}</td>"
            for i, v in enumerate(rest, start=1)
        )
        css = ' class="chosen"' if number == chosen else ""
        body.append(f'<tr{css}><th scope="row">{text(first)}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}">'
        f"<table><caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def matrix(caption: str, names: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """A confusion matrix: true classes by row, predicted by column, shaded by the share of the row.

    Args:
        caption: its caption.
        names: labels of the classes.
        counts: the number of rows in each cell.
    """
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in names)
    body = []
    for i, row in enumerate(counts):
        total = max(1, sum(row))
        cells = "".join(
            f'<td class="{"right" if i == j else "wrong"}" style="--share:{count / total:.3f}">'
            f"{count:,}</td>"
            for j, count in enumerate(row)
        )
        body.append(f'<tr><th scope="row">{text(names[i])}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}">'
        f'<table class="matrix"><caption>{text(caption)}</caption><thead><tr>'
        f'<th scope="col">truth ↓ predicted →</th>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def meters(shares: Mapping[str, float], label: str) -> str:
    """Shares as horizontal bars with numbers.

    Args:
        shares: by name.
        label: the text alternative.
    """
    most = max(shares.values())
    rows = "".join(
        f'<dt>{text(name)}</dt><dd><span class="meter" style="width:{100 * share / most:.1f}%">'
        f'</span></dd><dd class="value">{100 * share:.1f} %</dd>'
        for name, share in shares.items()
    )
    return f'<div class="card"><dl class="relevance" aria-label="{text(label)}">{rows}</dl></div>'


def facts(items: Mapping[str, Any]) -> str:
    """A list of names and values."""
    return (
        '<dl class="facts">'
        + "".join(f"<dt>{text(name)}</dt><dd>{prose(value)}</dd>" for name, value in items.items())
        + "</dl>"
    )
