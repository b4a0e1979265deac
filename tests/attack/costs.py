"""The attack on costs: hostile expressions and cost files, each a refusal or a finite value."""

import json
import sys
import tempfile
import unicodedata  # noqa: F401  Python's own parser imports it at the first name beyond ASCII
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from directgp.decisions import Cost, cost_from, decide, read_cost
from directgp.decisions.expression import FUNCTIONS
from directgp.predictive import ClassProbabilities, GaussianMixture
from tests.attack.result import Result, Tell, silent
from tests.attack.watch import watching

COLUMNS = {"price": np.array([1.0, 2.0, 3.0]), "size": np.array([0.5, 0.25, 4.0])}
_SLOWEST = 5.0

EXPRESSIONS = (
    "y.__class__", "().__class__.__bases__[0].__subclasses__()", "__import__('os').system('true')",
    "open('x')", "exec('1')", "eval('1')", "compile('1', '', 'eval')", "getattr(y, 'real')",
    "lambda: 1", "[y for y in y]", "{y}", "{y: 1}", "(y := 1)", "f'{y}'", "'a' * 10**9", "b'a'",
    "y[0]", "y if y else 1", "y and 1", "not y", "1 < y < 2", "y is 1", "y in y", "*y", "**y",
    "y;y",
    "y\nimport os", "import os", "print(y)", "abs(y, out=y)", "abs(*y)", "abs(**y)", "1j", "...",
    "None", "9**9**9**9", "10**400", "1e400", "-1e400", "1 << 10**9", "2 // 1", "y @ y", "y ^ y",
    "9" * 900, "0x" + "f" * 900, "0b" + "1" * 900, "1_000", "((((((y))))))",
    "(" * 400 + "y" + ")" * 400,
    "-" * 990 + "y", "~" * 990 + "y", "+".join(["y"] * 400), "abs(" * 200 + "y" + ")" * 200,
    "y" * 990,
    "a" * 5000, "", " ", "\x00", "y\x00", "ａｂｓ(y)", "y​", "y # c", "yield y", "await y", "y!r",
    "log(y - y)", "y / (y - y)", "exp(exp(exp(y)))", "(y + 1) ** 1e9", "y ** -y", "sqrt(-y)",
    "0 / 0",
    "exp(1000)", "1 % 0", "where(y > 1, y, price)", "clip(y, price, size)", "os", "np.abs(y)",
    "self",
)  # fmt: skip
_ATOMS = ("y", "action", "price", "size", "0", "1", "2.5", "1e308", "-3", "nothing", "True", "0x10")
_JOINS = ("+", "-", "*", "/", "**", "%", "<", ">=", "==", "!=", "&", "|", "//", "@", "^", ".", ",")
_STRAY = "()[]{}:;.,'\"\\@#$!?`~^&|\n\t\x00λ "

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2.5, 1e308, -1e308, 10**18, 2**63, "", "yes", "x" * 3000, "\n",
    [], [1], [1, 2], [0, 1, 2], ["a", "b"], [[0, 1], [1, 0]], [[0], [1]], [[[]]], {},
    {"column": "price"},
    {"column": "nothing"}, {"column": "price", "times": "x"}, {"column": "price", "times": 1e308},
    {"column": []}, {"column": "price", "more": 1}, {"a": [0, 1], "b": [1, 0]}, {"a": [0]},
    {"": []},
    {"kind": "binary", "false_positive": 1, "false_negative": 2}, {"kind": "reject"}, {"kind": []},
    [{"column": "price"}], [[{"column": "price"}, 0], [0, 1]], "attack_bait:run", "os:system",
    "builtins:eval", "attack_bait.py:run", "../../x.py:run", "y - action", "abs(y - action)",
)  # fmt: skip
_SETTINGS = (
    "kind", "false_positive", "false_negative", "positive", "matrix", "actions", "classes", "price",
    "cost", "under", "over", "weight", "width", "miss", "expression", "function", "lower", "upper",
)  # fmt: skip
_KINDS = {
    "binary": {"false_positive": 1, "false_negative": 5, "positive": "b"},
    "matrix": {"matrix": [[0, 1], [5, 0]]},
    "reject": {"price": 0.2, "cost": {"kind": "matrix", "matrix": [[0, 1], [5, 0]]}},
    "newsvendor": {"under": 4, "over": 1},
    "square": {},
    "interval": {"width": 1, "miss": 20},
    "function": {"expression": "abs(y - action)", "actions": [0, 1, 2]},
}


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Try `count` expressions and tables of settings in turn, the known expressions first."""
    result = Result({name: Counter() for name in ("expressions", "settings", "files")})
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        (Path(folder) / "attack_bait.py").write_text("def run(y, action):\n    return 0 * y\n")
        for value in _KINDS:  # what is imported late is imported now
            _used(cost_from({"kind": value, **_KINDS[value]}))
        try:
            for number in range(count):
                rng = np.random.default_rng([seed, number])
                kind = ("expressions", "settings", "files")[number % 3]
                given, use = _made(kind, number // 3, rng, Path(folder))
                with result.timed() as took:
                    outcome = _outcome(use, Path(folder))
                sound = outcome in ("refused", "value") and took.processor < _SLOWEST
                result.counts[kind][outcome if sound else "BAD"] += 1
                if not sound:
                    result.bad.append(f"{kind} {given[:200]!r}: {outcome} ({took.processor:.1f} s)")
                    tell(result.bad[-1])
        finally:
            sys.path.remove(folder)
    return result


def _made(
    kind: str, number: int, rng: np.random.Generator, folder: Path
) -> tuple[str, Callable[[], Any]]:
    """What is tried, as text, and the trial."""
    if kind == "expressions":
        text = EXPRESSIONS[number] if number < len(EXPRESSIONS) else _soup(rng)
        settings = {"kind": "function", "expression": text, "actions": [0, 1, 2]}
        return text, lambda: _used(cost_from(settings, COLUMNS))
    settings = _settings(rng)
    if kind == "settings":
        return str(settings), lambda: _used(cost_from(settings, COLUMNS))
    content = _file(rng, settings)
    path = folder / "cost.toml"
    path.write_bytes(content)
    return repr(content), lambda: _used(read_cost(path, COLUMNS))


def _soup(rng: np.random.Generator) -> str:
    """Words of expressions put together at random, sometimes with stray characters."""

    def part(depth: int) -> str:
        kind = rng.random()
        if depth > 5 or kind < 0.3:
            return str(rng.choice(_ATOMS))
        if kind < 0.6:
            return f"({part(depth + 1)} {rng.choice(_JOINS)} {part(depth + 1)})"
        name = str(rng.choice(list(FUNCTIONS)))
        count = FUNCTIONS[name][1] if rng.random() < 0.9 else int(rng.integers(0, 5))
        return f"{name}({', '.join(part(depth + 1) for _ in range(count))})"

    text = list(part(0))
    for _ in range(rng.integers(0, 3)):
        text.insert(int(rng.integers(len(text) + 1)), _STRAY[rng.integers(len(_STRAY))])
    return "".join(text)


def _settings(rng: np.random.Generator) -> dict[str, Any]:
    """A sound cost with one to three settings that are not."""
    kind = str(rng.choice(list(_KINDS)))
    settings: dict[str, Any] = {"kind": kind, **_KINDS[kind]}
    for _ in range(rng.integers(0, 4)):
        own = list(settings) if rng.random() < 0.7 else list(_SETTINGS)
        settings[str(rng.choice(own))] = VALUES[rng.integers(len(VALUES))]
    return settings


def _file(rng: np.random.Generator, settings: dict[str, Any]) -> bytes:
    """Settings as TOML, or bytes that are none."""
    settings.pop("function", None)  # a file that the user gives may name one
    lines = "\n".join(f"{name} = {_toml(value)}" for name, value in settings.items())
    ways = (
        lambda: lines.encode("utf-8", "replace"),
        lambda: lines.encode("utf-8", "replace"),
        lambda: lines.encode("utf-16"),
        lambda: b"\xff\xfe" + lines.encode("utf-8", "replace"),
        lambda: f"{lines}\nmatrix = {'[' * 5000}{']' * 5000}".encode(),
        lambda: f"{lines}\nweight = {'9' * 6000}".encode(),
        lambda: f"{lines}\nweight = 1979-05-27T07:32:00Z".encode(),
        lambda: f"{lines}\nweight = inf".encode(),
        lambda: f"{lines}\nweight = nan".encode(),
        lambda: (lines + "\n" + lines).encode("utf-8", "replace"),
        lambda: lines[: rng.integers(len(lines))].encode("utf-8", "replace"),
        lambda: bytes(rng.integers(256, size=200, dtype=np.uint8)),
        lambda: b"a.b.c." * 2000 + b"d = 1",
    )
    return ways[rng.integers(len(ways))]()


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return '""' if value is None else json.dumps(value)


def _used(cost: Cost) -> np.ndarray:
    """What a user does with a cost: decides by it, for classes or for numbers."""
    rows = np.zeros((1, 3))
    predictives = (
        ClassProbabilities(np.log([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])),
        GaussianMixture(rows + 1.0, rows + 2.0, np.zeros(1)),
    )
    refused = None
    for predictive, labels in zip(predictives, (["a", "b"], None), strict=True):
        try:
            decision = decide(predictive, cost, labels)
            decision.named, decision.curve()
        except ValueError as error:
            refused = error
        else:
            return decision.expected_cost
    assert refused is not None
    raise refused


def _outcome(use: Callable[[], Any], folder: Path) -> str:
    """What the use of a cost led to; the cost file of `folder` itself may be read."""
    value = None
    with watching() as events:
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(use())
        except ValueError as error:
            said = str(error)
            outcome = "refused" if said and "\n" not in said and len(said) < 1000 else said[:300]
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
    if sys.modules.pop("attack_bait", None) is not None:
        return "a module was imported"
    own = f"open ('{folder / 'cost.toml'}', 'r')"
    events = [event for event in events if event != own]
    if events:
        return f"it caused {events[0]}"
    if value is None:
        return outcome
    return "value" if np.isfinite(value).all() else "a cost that is not finite"
