"""The policy of a report holds in a real browser, whatever had been left unescaped in it."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from directgp.report.html import page, text
from tests.attack.browser import browse, browser, complaints
from tests.attack.hostile_tables import TEXTS

pytestmark = pytest.mark.skipif(
    browser() is None, reason="no Chromium on the PATH; your system has it as a package"
)
HARMFUL = """
<script>document.title = 'RAN'</script>
<img src="data:image/png;base64,x" onerror="document.title = 'RAN'">
<svg onload="document.title = 'RAN'"></svg>
<script src="http://127.0.0.1:{port}/script.js"></script>
<img src="http://127.0.0.1:{port}/picture.png">
<link rel="stylesheet" href="http://127.0.0.1:{port}/style.css">
<style>@import url('http://127.0.0.1:{port}/more.css');</style>
<iframe src="http://127.0.0.1:{port}/frame.html"></iframe>
<object data="http://127.0.0.1:{port}/object.html"></object>
<form id="f" action="http://127.0.0.1:{port}/form"><input name="a"></form>
"""
_POLICY = re.compile('<meta http-equiv="Content-Security-Policy".*?>')


@pytest.fixture
def listener():
    """A server on loopback, and the paths that were asked of it."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format, *args):
            """Nothing is printed for each request."""

    # In threads: a browser opens connections ahead, and one that says nothing would block the rest.
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1], asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_what_is_unescaped_in_a_page_neither_runs_nor_loads(tmp_path, listener):
    port, asked = listener
    made = page("a report", "", HARMFUL.format(port=port))
    path = tmp_path / "page.html"
    path.write_text(made, encoding="utf-8")
    document, words = browse(path, tmp_path)
    assert "<title>a report</title>" in document
    assert asked == []
    assert len(words) >= 6 and all("Content Security Policy" in each for each in words)
    # Without the policy the same page does all of it: the browser is able to.
    path.write_text(_POLICY.sub("", made), encoding="utf-8")
    document, _ = browse(path, tmp_path)
    assert "<title>RAN</title>" in document
    assert {"/script.js", "/picture.png", "/style.css", "/frame.html"} <= set(asked)


def test_hostile_texts_on_a_page_cause_no_word_of_the_browser():
    escaped = "".join(f'<p title="{text(each)}">{text(each)}</p>' for each in TEXTS)
    assert complaints([page(each, "", escaped) for each in TEXTS[:5]]) == []
    assert complaints([page("title", "", f"<p>{TEXTS[0]}</p>")])
