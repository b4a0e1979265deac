"""The beginning of every command that computes."""

from directgp.cli.cache import keep_compiled_programs
from directgp.cli.console import Voice


def begin(as_json: bool, quiet: bool) -> Voice:
    """Turn on the compile cache, hide warnings of other libraries, and make the console output."""
    voice = Voice(as_json=as_json, quiet=quiet)
    keep_compiled_programs()
    voice.hush_warnings()
    return voice
