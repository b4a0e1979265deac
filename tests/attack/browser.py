"""Reports in a real browser (Chromium, where there is one): what it refuses, it complains about."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LONGEST = 240.0


@cache
def browser() -> str | None:
    """The program, if there is one."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def complaints(pages: Sequence[str]) -> list[str]:
    """What the browser says while it shows these pages, each in a frame of its own.

    A script, a handler or another file that a page asks for is refused by the page's policy, and
    the browser says so; a page of plain text and pictures causes no word.
    """
    frames = "".join(f'<iframe srcdoc="{escape(page)}"></iframe>' for page in pages)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "pages.html"
        whole.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}", encoding="utf-8")
        return browse(whole, Path(folder))[1]


def browse(page: Path, folder: Path) -> tuple[str, list[str]]:
    """The document that a page becomes, and what the browser complained about."""
    program = browser()
    assert program is not None
    done = subprocess.run(
        [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}", "--dump-dom",
            f"file://{page}",
        ],
        capture_output=True, text=True, timeout=_LONGEST, check=True, errors="replace",
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
