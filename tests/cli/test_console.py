"""What is shown on a terminal: bars for work whose end is known, and no control characters."""

import json
import re

import pytest

from directgp.cli import console
from directgp.cli.console import Terminal, table, visible


@pytest.fixture
def watched(monkeypatch):
    """As if stderr were a terminal of 80 columns."""
    monkeypatch.setattr(console, "is_terminal", lambda: True)
    for name, value in {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)


def test_a_bar_ends_at_a_hundred_per_cent_within_eighty_columns(watched, capsys):
    with Terminal(as_json=False, quiet=False).steps("predicting", 30) as advance:
        advance(10)
        advance(19)
        advance()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert "predicting" in shown and "100%" in shown and "left" in shown
    assert all(len(line.rstrip()) <= 80 for line in re.split(r"[\r\n]", shown))


@pytest.mark.parametrize("quiet", [True, False])
def test_nobody_who_does_not_watch_sees_a_bar(quiet, capsys):
    with Terminal(as_json=False, quiet=quiet).steps("predicting", 2) as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_a_quiet_run_shows_no_bar_in_a_terminal(watched, capsys):
    with Terminal(as_json=False, quiet=True).steps("predicting", 2) as advance:
        advance(2)
    assert capsys.readouterr().err == ""


HOSTILE = "a\x1b[2Jb\x9b31mc\u202ed\ud800e\x07"


def test_what_a_table_says_does_not_command_a_terminal(capsys):
    terminal = Terminal(as_json=False, quiet=False)
    terminal.info(f"Column {HOSTILE}\nerror: a line of its own")
    terminal.warn(HOSTILE)
    terminal.result({}, HOSTILE, table(HOSTILE, (HOSTILE, "x"), [(HOSTILE, "1")]))
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert all(c.isprintable() or c == "\n" for c in text)
        assert "\\x1b[2Jb\\x9b31mc\\u202ed\\ud800e\\x07" in text
    assert len(shown.err.splitlines()) == 2


def test_json_has_no_control_characters_and_is_still_what_was_said(capsys):
    Terminal(as_json=True, quiet=False).result({HOSTILE: HOSTILE, "price in €": "é"})
    shown = capsys.readouterr().out
    assert shown.strip().isprintable() and "price in €" in shown
    assert json.loads(shown) == {HOSTILE: HOSTILE, "price in €": "é"}


@pytest.mark.parametrize("name", ["[/x].dgp", "[red]a[/red]", "[/]"])
def test_brackets_in_titles_and_headings_are_no_markup(name, capsys):
    Terminal(as_json=False, quiet=False).result({}, table(name, (name, name), [(name, name)]))
    assert capsys.readouterr().out.count(name) == 5


def test_usual_texts_are_shown_as_they_are():
    assert visible("Größe in m², 价格\t👩\u200d🔬\n") == "Größe in m², 价格\t👩\u200d🔬\n"
