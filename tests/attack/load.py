"""The attack by load: one process answers mixed requests on loopback with models that it shares.

A small HTTP server predicts in a thread for each connection. Clients ask for means, quantiles and
probabilities of 1 to 200 rows, sometimes for something that must be refused, and compare every
answer with the one known. They rest as long as they worked: about one core of load.
"""

import http.client
import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import numpy as np

from tests.attack.concurrency import models
from tests.attack.memory import resident
from tests.attack.result import Result, Tell, silent

_CLIENTS = 2
_SIZES = (1, 1, 1, 10, 50, 200)
_PARTS = 12
_WARM = 3
"""Parts of the run before the one that others are compared with: caches and pools fill then."""
_MOST_GROWTH = 32 << 20
_MOST_SLOWDOWN = 1.5
_ANSWERS: dict[str, tuple[str, Callable[[Any, np.ndarray], np.ndarray]]] = {
    "GP, mean": ("GP", lambda model, rows: model.predict(rows)),
    "GP, quantiles": ("GP", lambda model, rows: model.predict_quantiles(rows)),
    "stack, mean": ("stack", lambda model, rows: model.predict(rows)),
    "stack, quantiles": ("stack", lambda model, rows: model.predict_quantiles(rows)),
    "classes, probabilities": ("stack of classes", lambda model, rows: model.predict_proba(rows)),
}
_WRONG: dict[str, Any] = {
    "too few columns": [[1.0]],
    "text": [["a", "b", "c"]],
    "infinite": [[1.0, 2.0, float("inf")]],
}


class Part(NamedTuple):
    """What was measured in one part of the run."""

    answers: int
    cpu: float
    memory: int


def _handler(made: dict[str, Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet

        def do_POST(self) -> None:
            length = min(int(self.headers["Content-Length"]), 1 << 20)
            asked = json.loads(self.rfile.read(length))
            name, answer = _ANSWERS[asked["what"]]
            try:
                found, code = answer(made[name], np.array(asked["rows"])).tolist(), 200
            except ValueError as error:
                found, code = str(error), 400
            body = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed for each request."""

    return Handler


@contextmanager
def _server(made: dict[str, Any]):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Load for `count` seconds."""
    result, lock, made = Result(), threading.Lock(), models()
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(size, 3)) for size in _SIZES]
    known = {what: [answer(made[name], each) for each in rows]
             for what, (name, answer) in _ANSWERS.items()}  # fmt: skip
    until, seen = time.monotonic() + count, []

    def ask(number: int, port: int) -> None:
        own = np.random.default_rng([seed, number])
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        while time.monotonic() < until:
            began = time.monotonic()
            kind, outcome = _asked(own, link, rows, known)
            took = time.monotonic() - began
            with lock:
                result.longest = max(result.longest, took)
                result.add(kind, outcome, ("right", "refused"), tell)
            time.sleep(took)
        link.close()

    with _server(made) as port:
        clients = [threading.Thread(target=ask, args=(k, port)) for k in range(_CLIENTS)]
        for client in clients:
            client.start()
        for part in range(_PARTS):
            before, cpu = result.total, time.process_time()
            time.sleep(max(0.0, until - time.monotonic()) / (_PARTS - part))
            seen.append(Part(result.total - before, time.process_time() - cpu, resident()))
            each = 1e3 * seen[-1].cpu / max(1, seen[-1].answers)
            tell(f"{seen[-1].answers} answers, {each:.2f} ms of CPU each, "
                 f"{seen[-1].memory >> 20} MiB, {threading.active_count()} threads")  # fmt: skip
        for client in clients:
            client.join()
    judge(seen, result, tell)
    return result


def judge(seen: list[Part], result: Result, tell: Tell = silent) -> None:
    """Growth and slowdown since the run was warm."""
    first, last = seen[_WARM], seen[-1]
    result.memory = max(0, last.memory - first.memory)
    if result.memory > _MOST_GROWTH:
        result.add("memory", f"it has grown by {result.memory >> 20} MiB", (), tell)
    late = [part.cpu / max(1, part.answers) for part in seen[-_WARM:]]
    early = [part.cpu / max(1, part.answers) for part in seen[_WARM : 2 * _WARM]]
    ratio = float(np.median(late) / np.median(early))
    tell(f"CPU of an answer, late to early: {ratio:.2f}")
    if ratio > _MOST_SLOWDOWN:
        result.add("speed", f"an answer takes {ratio:.1f} times as long as before", (), tell)


def _asked(
    rng: np.random.Generator,
    link: http.client.HTTPConnection,
    rows: list[np.ndarray],
    known: dict[str, list[np.ndarray]],
) -> tuple[str, str]:
    what = list(known)[int(rng.integers(len(known)))]
    wrong = list(_WRONG)[int(rng.integers(len(_WRONG)))] if rng.random() < 0.1 else None
    which = int(rng.integers(len(rows)))
    given = _WRONG[wrong] if wrong else rows[which].tolist()
    try:
        link.request("POST", "/", json.dumps({"what": what, "rows": given}))
        answer = link.getresponse()
        found = json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        return what, f"{type(error).__name__}: {error}"
    if wrong:
        refused = answer.status == 400 and found and "\n" not in found
        return "wrong rows", "refused" if refused else f"{wrong}: {answer.status} {found!r:.200}"
    if answer.status != 200:
        return what, f"{answer.status} {found!r:.200}"
    return what, "right" if np.array_equal(found, known[what][which]) else "other numbers"
