"""The beginning of every command that computes."""

from directgp.cli.cache import keep_compiled_programs
from directgp.cli.console import Voice


def begin(as_json: bool, quiet: bool) -> Voice:
    """Switch the compile cache on, keep foreign warnings from users, and speak as asked."""
    voice = Voice(as_json=as_json, quiet=quiet)
    keep_compiled_programs()
    voice.hush_warnings()
    return voice
