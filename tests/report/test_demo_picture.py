"""The demonstration with a picture runs, and what it says agrees with what it measured."""

import re

import pytest

from directgp.report import demo_picture as demo


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What a quick run prints, and where its picture is."""
    from contextlib import redirect_stdout
    from io import StringIO

    picture = tmp_path_factory.mktemp("demo") / "new folder" / "picture.png"
    output = StringIO()
    with redirect_stdout(output):
        assert demo.main(["--quick", "--seed", "1", "--output", str(picture)]) == 0
    return output.getvalue(), picture


def test_it_writes_the_picture_and_says_where(printed):
    text, picture = printed
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert f"Picture: {picture.resolve()}" in text


def test_the_table_has_the_three_methods_with_their_scores(printed):
    text, _ = printed
    for name in [*(method.name for method in demo.METHODS), "true distribution"]:
        (row,) = [line for line in text.splitlines() if line.startswith(f"│ {name} ")]
        assert row.count("±") == 4
    for heading in ("NLL", "RMSE", "CRPS", "in 90% interval", "fit s"):
        assert f" {heading} ┃" in text


def test_the_sentence_agrees_with_the_table(printed):
    text, _ = printed
    table = {
        method.name: float(re.search(rf"│ {method.name} +│[^│]+│ +(\S+) ±", text)[1])
        for method in demo.METHODS
    }
    pattern = r"(\w[\w ]+): NLL per row (\S+) ± (\S+) against ELBO and (\S+) ± (\S+) against β-ELBO"
    ((result, *numbers),) = re.findall(pattern, " ".join(text.split()))
    first, first_error, second, second_error = map(float, numbers)
    assert first == pytest.approx(table["direct"] - table["ELBO"], abs=0.002)
    assert second == pytest.approx(table["direct"] - table["β-ELBO"], abs=0.002)
    wins = first < -2 * first_error and second < -2 * second_error
    loses = first > 2 * first_error or second > 2 * second_error
    undecided = "is not better" if loses else "No clear difference"
    expected = "direct loss is better" if wins else undecided
    assert result.endswith(expected)


def test_every_method_has_its_own_line():
    assert list(demo.LINES) == [method.name for method in demo.METHODS]
    assert all(len(set(look)) == len(demo.LINES) for look in zip(*demo.LINES.values(), strict=True))
