"""Ways to alter a model file: bytes, header, words, arrays, names of classes.

Each kind is a function (random generator, sound file) → altered file. Those of `LEVEL_TWO` put
right both the checksum and the digest of the content, which takes knowing the format: what they
change within what a model may be is then another model, and not damage.
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from directgp.parameters import transforms
from directgp.persistence.classes import known_classes
from tests.attack.forge import Pieces, header_of, signed, unsigned, with_header

Mutation = Callable[[np.random.Generator, bytes], bytes]

DEEP = "[" * 20_000 + "]" * 20_000
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 7, 10**6, 2**31, 2**63, -(2**63), 10**18, 0.0, -0.5, 1e-300,
    1e300, "", "x", "\n\nTraceback", "!class", "os.system", "__class__", "a" * 5000, "\x00", "💥",
    "\ud800", "\x1b[2J\x9b31m", "\u202e", "ＲＢＦ", "<script>alert(1)</script>", "=1+1",
    1e308, 2**53,
    [], [[]], {}, [None], {"a": 1}, {"!class": "os.system", "fields": {}}, {"!float": "nan"},
    {"!float": "inf"}, {"!array": "fitted.inputs.shift", "jax": False}, {"!tuple": []},
    {"!pairs": [[1, 2]]}, {"!transform": "exp-above"}, {"!transform": "os.system"},
    {"!texts": ["a"], "shape": [1], "kind": "O"}, {"!texts": ["a"], "shape": [10**9], "kind": "U"},
    {"kind": "function", "function": "attack_bait:run", "actions": [0, 1]},
)  # fmt: skip
NAMES = (
    "os.system", "builtins.eval", "builtins.exec", "subprocess.Popen", "pickle.loads",
    "attack_bait", "attack_bait.Bait", "directgp.cli.app.run", "directgp.fitting.fit.fit",
    "directgp.api",
    "directgp.persistence.model_file.load", "paramax.wrappers.WeightNormalization",
    "jax.numpy.array", "numpy.load", "directgp.kernels.stationary.Stationary", "Model", "Kernel",
    "directgp.models.sparse_gp.ConditionedSparseGP", "directgp..RBF", ".RBF", "RBF.", "",
)  # fmt: skip
"""Names that are not on the list of classes."""


def bits(rng: np.random.Generator, data: bytes) -> bytes:
    """One to four flipped bits."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def cuts(rng: np.random.Generator, data: bytes) -> bytes:
    """Truncated, lengthened, a piece left out, doubled or moved."""
    a, b = sorted(rng.integers(len(data), size=2))
    ways = (
        lambda: data[:a],
        lambda: data[a:],
        lambda: data + bytes(rng.integers(256, size=int(rng.integers(1, 50)), dtype=np.uint8)),
        lambda: data[:a] + data[b:],
        lambda: data[:b] + data[a:],
        lambda: data[b:] + data[:b],
        lambda: data[:a] + bytes(b - a) + data[b:],
        lambda: b"",
    )
    return ways[rng.integers(len(ways))]()


def signed_bits(rng: np.random.Generator, data: bytes) -> bytes:
    """Flipped bits anywhere, with the checksum put right."""
    return signed(bits(rng, unsigned(data)))


def headers(rng: np.random.Generator, data: bytes) -> bytes:
    """Another header: shapes, types, offsets and names of arrays, sizes, nesting."""
    blank = unsigned(data)
    header = json.loads(header_of(blank))
    names = [name for name in header if name != "__metadata__"]
    name, other = (names[rng.integers(len(names))] for _ in range(2))
    entry = header[name]
    huge = [[2**62], [2**31, 2**31, 2**31], [0, 2**62], [-1], [10**30], [1.5], ["1"], None, [[1]]]
    ways: tuple[Callable[[], Any], ...] = (
        lambda: entry.update(shape=huge[rng.integers(len(huge))]),
        lambda: entry.update(shape=[*entry["shape"], 1]),
        lambda: entry.update(shape=entry["shape"][::-1]),
        lambda: entry.update(shape=[int(np.prod(entry["shape"]))]),
        lambda: entry.update(dtype=str(rng.choice(["F32", "F16", "BF16", "I64", "U8", "X", "F8"]))),
        lambda: entry.update(data_offsets=[0, 2**60]),
        lambda: entry.update(data_offsets=header[other]["data_offsets"]),
        lambda: entry.update(data_offsets=entry["data_offsets"][::-1]),
        lambda: header.pop(name),
        lambda: header.update({name + "x": header.pop(name)}),
        lambda: header.update({name: header[other], other: header[name]}),
        lambda: header["__metadata__"].pop(str(rng.choice(sorted(header["__metadata__"])))),
        lambda: header["__metadata__"].update(content="0" * 64),
        lambda: header["__metadata__"].update(extra="x"),
        lambda: header.update(__metadata__=HOSTILE[rng.integers(len(HOSTILE))]),
        lambda: header.update({"new": HOSTILE[rng.integers(len(HOSTILE))]}),
    )
    raw = (
        lambda text: DEEP.encode(),
        lambda text: b'{"a":' * 5000 + text + b"}" * 5000,
        lambda text: text[:-1] + b',"__metadata__":{}}',
        lambda text: text.replace(b"{", b"[", 1),
        lambda text: text.replace(b":", b"\xff", 1),
        lambda text: b" " * 1000 + text,
    )
    if rng.random() < 0.2:
        return signed(with_header(blank, raw[rng.integers(len(raw))](header_of(blank))))
    ways[rng.integers(len(ways))]()
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    return signed(with_header(blank, text.encode("utf-8", "replace")))


def every_place(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something is said, at every depth."""
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from every_place(value, (*path, key))


def inside(said: Any, path: tuple[Any, ...]) -> Any:
    """What is said at a place."""
    for key in path:
        said = said[key]
    return said


def class_places(said: Any) -> list[tuple[Any, ...]]:
    """Where a class or a transform is named."""
    return [path for path in every_place(said) if path[-1] in ("!class", "!transform")]


def reworded(rng: np.random.Generator, pieces: Pieces) -> Pieces:
    """One to three places of the JSON say something else; texts of JSON within it too."""
    said = copy.deepcopy(pieces.said)
    for _ in range(rng.integers(1, 4)):
        places = list(every_place(said))
        if not places:
            break
        path = places[rng.integers(len(places))]
        whole, key = inside(said, path[:-1]), path[-1]
        value = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
        other = inside(said, places[rng.integers(len(places))])
        if isinstance(whole[key], str) and whole[key].startswith("{") and rng.random() < 0.9:
            whole[key] = _reworded_text(rng, whole[key])
        elif rng.random() < 0.1:
            whole.pop(key)
        elif rng.random() < 0.1 and isinstance(whole, list):
            whole.append(whole[key])
        elif rng.random() < 0.1 and isinstance(whole, dict):
            whole[str(value)[:50]] = whole.pop(key)
        elif rng.random() < 0.2 and len(json.dumps(other)) < 5000:
            whole[key] = copy.deepcopy(other)
        elif type(whole[key]) in (int, float) and rng.random() < 0.5:
            whole[key] = whole[key] * float(rng.choice([-1, 0, 2, 1e3, 1e9])) + rng.integers(2)
        else:
            whole[key] = value
    return pieces.saying(said)


def reworded_texts(rng: np.random.Generator, pieces: Pieces) -> Pieces:
    """One to three places of the JSON texts within the JSON: encoders, facts, descriptions."""
    said = copy.deepcopy(pieces.said)
    places = [
        path
        for path in every_place(said["extras"])
        if isinstance(text := inside(said["extras"], path), str) and text.startswith(("{", "["))
    ]
    for _ in range(rng.integers(1, 4)):
        path = places[rng.integers(len(places))]
        whole, key = inside(said["extras"], path[:-1]), path[-1]
        whole[key] = _reworded_text(rng, whole[key]) if whole[key] != DEEP else DEEP
    return pieces.saying(said)


def _reworded_text(rng: np.random.Generator, text: str) -> str:
    """The JSON of an encoder or of the facts, altered in its own words."""
    if rng.random() < 0.05:
        return DEEP
    said = json.loads(text)
    places = list(every_place(said))
    path = places[rng.integers(len(places))]
    whole, key = inside(said, path[:-1]), path[-1]
    own, other = whole[key], copy.deepcopy(inside(said, places[rng.integers(len(places))]))
    hostile = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
    if isinstance(own, str) and rng.random() < 0.5:  # another text where a text belongs
        hostile = str(rng.choice(np.array([h for h in HOSTILE if isinstance(h, str)], object)))
    ways: tuple[Callable[[], Any], ...] = (
        lambda: whole.update({key: hostile}) if isinstance(whole, dict) else hostile,
        lambda: hostile,
        lambda: other,
        lambda: _other_number(rng, own) if type(own) in (int, float) else own,
        lambda: [] if isinstance(own, list) else {},
    )
    found = ways[int(rng.choice(len(ways), p=[0.1, 0.4, 0.2, 0.2, 0.1]))]()
    whole[key] = hostile if found is None else found
    return json.dumps(said)


def _other_number(rng: np.random.Generator, number: float) -> float:
    found = number * float(rng.choice([-1, 0, 2, 1e3, 1e300])) + float(rng.integers(2))
    return int(found) if type(number) is int and abs(found) < 2**62 else found


def arrays(rng: np.random.Generator, pieces: Pieces) -> Pieces:
    """Arrays of other shapes, types and values; swapped, doubled, left out."""
    found = dict(pieces.arrays)
    names = sorted(found)
    name, other = (names[rng.integers(len(names))] for _ in range(2))
    own = found[name]
    spoilt = np.array(own, dtype=own.dtype)
    if spoilt.size and spoilt.dtype.kind == "f":
        bad = [np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, -1.0, 5e-324, 800.0, -800.0]
        spoilt.flat[rng.integers(spoilt.size)] = bad[rng.integers(len(bad))]
    ways = (
        lambda: {name: spoilt},
        lambda: {name: spoilt},
        lambda: {name: np.full_like(own, np.nan if own.dtype.kind == "f" else 0)},
        lambda: {name: found[other], other: own},
        lambda: {name: own.T.copy()},
        lambda: {name: own.reshape(-1)},
        lambda: {name: own[None]},
        lambda: {name: own[..., :1].copy() if own.ndim else own},
        lambda: {name: np.concatenate([own, own]) if own.ndim else np.stack([own, own])},
        lambda: {name: own[:0].copy() if own.ndim else np.zeros(0)},
        lambda: {name: own.astype(str(rng.choice(["f4", "f2", "i8", "u1", "?"])))},
        lambda: {name: -own if own.dtype.kind == "f" else own},
        lambda: {f"{name}x": own},
        lambda: {"fitted.more": own},
    )
    with np.errstate(all="ignore"):
        changed = {key: np.array(v) for key, v in ways[rng.integers(len(ways))]().items()}
    if rng.random() < 0.1:
        found.pop(name)
    return Pieces(pieces.said, found | changed, pieces.content)


def classes(rng: np.random.Generator, pieces: Pieces) -> Pieces:
    """A part of another class, by any name that the format can hold, or one that it cannot."""
    said = copy.deepcopy(pieces.said)
    parts = class_places(said)
    path = parts[rng.integers(len(parts))]
    known = [*known_classes(), *transforms]
    names = known if rng.random() < 0.8 else NAMES
    inside(said, path[:-1])[path[-1]] = str(names[rng.integers(len(names))])
    return pieces.saying(said)


def nested(rng: np.random.Generator, data: bytes) -> bytes:
    """JSON too deep, too long or not JSON, with all checksums put right."""
    pieces = Pieces.of(data)
    text = json.dumps(pieces.said)
    more = json.dumps(pieces.said | {"extras": pieces.said["extras"] | {"more": "here"}})
    ways = (
        lambda: more.replace('"here"', DEEP),
        lambda: more.replace('"here"', '{"!tuple": [' * 200 + "]}" * 200),
        lambda: text.replace('"summary": {', '"summary": {"n": ' + "9" * 5000 + ", ", 1),
        lambda: text.replace('"beta": 0.5', '"beta": NaN'),
        lambda: text.replace('"beta": 0.5', '"beta": 1e999'),
        lambda: text.replace('"schema": 2', '"schema": 99'),
        lambda: text.replace('"schema": 2', '"schema": 1'),
        lambda: text.replace('"schema": 2', '"schema": 2, "schema": 2'),
        lambda: text.replace("{", '{"a": ' + '{"!tuple": [' * 400 + "]}" * 400 + ", ", 1),
        lambda: text[: rng.integers(len(text))],
        lambda: DEEP,
        lambda: "",
        lambda: "null",
        lambda: text + " " * (33 << 20) if rng.random() < 0.05 else "[]",
    )
    return pieces.packed(True, ways[rng.integers(len(ways))]())


def _packed(change: Callable[[np.random.Generator, Pieces], Pieces], knows: bool) -> Mutation:
    def mutation(rng: np.random.Generator, data: bytes) -> bytes:
        return change(rng, Pieces.of(data)).packed(knows)

    return mutation


LEVEL_ONE: dict[str, Mutation] = {
    "flipped bits": bits,
    "truncated, spliced": cuts,
    "bits, checksum right": signed_bits,
    "header, checksum right": headers,
    "JSON, checksum right": _packed(reworded, False),
    "arrays, checksum right": _packed(arrays, False),
    "classes, checksum right": _packed(classes, False),
    "nesting, all right": nested,
}
LEVEL_TWO: dict[str, Mutation] = {
    "JSON, all right": _packed(reworded, True),
    "arrays, all right": _packed(arrays, True),
    "classes, all right": _packed(classes, True),
}
