"""The progress display: stage names, both terms, validation, roll-backs; silent unless asked."""

import re
from dataclasses import replace
from io import StringIO

from rich.console import Console

from directgp.training.loop import Settings, run, start
from directgp.training.progress import Lines, ProgressBar, Silent, member_reporter, reporter


def shown(ridge, **changes) -> str:
    file = StringIO()
    states = []
    settings = Settings(20, None, chunk=10)
    options = {"validation": ridge.validation} if changes.pop("validate", False) else {}
    run(ridge.gp, ridge.objective, ridge.data, settings, beta=1.0, after_chunk=states.append,
        **options)  # fmt: skip
    with ProgressBar(Console(file=file, width=250)) as bar:
        bar.stage("warm-up", 20)
        bar.update(start(ridge.gp))
        for state in states:
            bar.update(replace(state, **changes))
        bar.stage("final (β = 2)", 20)
    return file.getvalue()


def test_it_names_stages_and_shows_both_terms(ridge):
    text = shown(ridge)
    for word in ("warm-up", "final (β = 2)", "objective", "risk", "penalty"):
        assert word in text
    assert "validation" not in text and "roll-back" not in text


def test_it_shows_validation_loss_and_roll_backs(ridge):
    text = shown(ridge, validate=True, failures=2)
    assert "validation" in text and "2 roll-backs" in text


def test_a_terminal_keeps_one_line_for_all_stages(ridge):
    file = StringIO()
    with ProgressBar(Console(file=file, width=250, force_terminal=True)) as bar:
        bar.stage("early", 1000)
        bar.stage("next", 10)
    drawn = [line for line in file.getvalue().splitlines() if "stage" in line]
    assert "stage 2: next" in drawn[-1] and "left" in drawn[-1]
    assert "early" not in drawn[-1]


def test_a_log_file_gets_one_line_a_stage(ridge):
    file = StringIO()
    with ProgressBar(Console(file=file, width=250)) as bar:
        bar.stage("early", 1000)
        bar.stage("next", 10)
    assert [line.split(":")[1] for line in file.getvalue().splitlines()] == [" early", " next"]


def test_it_is_silent_where_nobody_can_see_it(capsys):
    assert isinstance(reporter(None), Silent)
    assert isinstance(reporter(False), Silent)
    assert isinstance(reporter(True), ProgressBar)
    with Silent() as silent:
        silent.stage("x", 1)
    assert capsys.readouterr() == ("", "")


def test_members_of_a_stack_get_a_line_each_where_there_is_no_terminal(capsys):
    assert isinstance(member_reporter(False), Silent) and not isinstance(
        member_reporter(False), Lines
    )
    assert isinstance(member_reporter(True), ProgressBar)
    with member_reporter(None) as lines:
        lines.stage("exact GP", 1, "fitting …")
        lines.stage("boosted trees", 1, "fitting …")
    assert capsys.readouterr() == ("", "exact GP: fitting …\nboosted trees: fitting …\n")


def test_eighty_columns_have_room_for_the_percentage_and_the_time_left(ridge):
    file = StringIO()
    numbers = {"objective": [1234.5678], "risk": [1200.1234], "penalty": [34.4444]}
    state = start(ridge.gp)
    state = replace(state, step=50, history=state.history | numbers)
    with ProgressBar(Console(file=file, width=80, force_terminal=True)) as bar:
        bar.stage("β = 0.0625, 4 of 13 values", 100)
        bar.update(state)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    lines = re.split(r"[\r\n]+", plain)
    drawn = next(line for line in reversed(lines) if "50%" in line)
    assert len(drawn.rstrip()) <= 80
    assert re.search(r"50% \d:\d\d:\d\d left [-\d]", drawn)
    assert "objective" in drawn  # as much of the numbers as there is room for
