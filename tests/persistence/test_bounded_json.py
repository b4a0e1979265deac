"""JSON of files from elsewhere: whatever is wrong with it is one line."""

import pytest

from directgp.errors import DirectGPError
from directgp.persistence.bounded_json import read_json

WRONG = {
    "1e999": "too large",
    "-1e999": "too large",
    "NaN": "the number",
    "-Infinity": "the number",
    "9" * 400: "too long",
    '{"a": 1, "a": 2}': "duplicate key",
    '{"b": {"a": 1, "a": 1}}': "duplicate key",
    r'"\ud800"': "not valid Unicode",
    r'{"\udfff\ud800": 1}': "not valid Unicode",
    '["a\ud800"]': "not valid Unicode",
    "[" * 100_000: "nested too deeply",
    '{"a":' * 100_000: "nested too deeply",
    "": "invalid JSON",
    "{'a': 1}": "invalid JSON",
    '"\x00"': "invalid JSON",
}


@pytest.mark.parametrize(("text", "why"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_wrong_is_said_in_one_line(text, why):
    with pytest.raises(DirectGPError, match=why) as caught:
        read_json(text)
    assert "\n" not in str(caught.value)


def test_bytes_are_read_alike():
    assert read_json(rb'{"a": "\ud83d\ude00"}') == {"a": "😀"}
    for data in (rb'["\ud800"]', b'["\xff"]'):
        with pytest.raises(DirectGPError):
            read_json(data)


def test_whole_characters_are_read_however_they_are_written():
    assert read_json(r'"\ud83d\ude00 \u00e9 \\ud800"') == "😀 é \\ud800"
    assert read_json('"👩\u200d🔬 é \x7f"') == "👩\u200d🔬 é \x7f"
