"""Tables made to do harm: names, cells, encodings, types and shapes, as CSV and as Parquet."""

import gzip
import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

ROWS = 24
TEXTS = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title><svg onload=alert(1)>",
    "</style><script>alert(1)</script>", "javascript:alert(1)", "' onmouseover='alert(1)",
    "<!--", "-->", "]]>", "&lt;b&gt;", "&#x3c;script&#x3e;", "{{7*7}}", "${7*7}", "%s%n", "`id`",
    "=1+1", "=HYPERLINK(\"http://x\",\"y\")", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1:A9)", "\t=1",
    "\r=1", " =1", "'", '"', "\\", "\\n", "a,b", "a;b", "a\nb", "a\r\nb", "\u202eabc", "\u200b",
    "\ufeff", "é", "💥", "null", "None", "nan", "inf", "true", "0", "-1", "1e5", "__class__",
    "../../etc/passwd", "mean", "std", "q0.5", "predicted", "p(a)", "x" * 9000, " ", "a\tb",
    "\x1b[31m", "\x07", "\x7f", "\x85", "\u2028",
)  # fmt: skip
"""Names and values; none has a NUL, which comes in bytes."""
NUMBERS: tuple[Any, ...] = (
    1e308, -1e308, 1e-320, 0.0, -0.0, float("inf"), float("-inf"), float("nan"), None, 2**53 + 1,
    1e15, -1e-15, 123456789012345678,
)  # fmt: skip
NUMBER_TEXTS = (
    "1,5", "1 000", "1_000", "0x10", "1e400", "-1e400", "١٢", "1.2.3", "--1", "1e", "NaN", "Inf",
    "9" * 400, "2024-13-45", "0000-00-00", "9999-12-31T23:59:60Z", "24:00", "½", "1/2", "$5", "5%",
)  # fmt: skip
ENCODINGS = (
    "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "cp037", "shift_jis",
    "gb18030", "utf-7", "ascii",
)  # fmt: skip

Columns = list[tuple[str, list[Any]]]


class Hostile(NamedTuple):
    """A table: its kind, the name of its file, its bytes, the target, the columns to keep."""

    kind: str
    name: str
    data: bytes
    target: str
    keep: str | None


def hostile(number: int, seed: int = 0) -> Hostile:
    """The table of this number: all kinds in turn, as CSV and as Parquet."""
    rng = np.random.default_rng([seed, number])
    kind = list(KINDS)[number % len(KINDS)]
    return KINDS[kind](rng, kind)


def _pick(rng: np.random.Generator, these: Any) -> Any:
    return these[int(rng.integers(len(these)))]


def _sound(rng: np.random.Generator) -> Columns:
    size = rng.normal(size=ROWS).round(3)
    y = (size + 0.1 * rng.normal(size=ROWS)).round(3)
    kind = rng.choice(["a", "b", "c"], ROWS).tolist()
    label = np.where(y > np.median(y), "yes", "no").tolist()
    last = y.tolist() if rng.random() < 0.5 else label
    return [("size", size.tolist()), ("kind", kind), ("other", rng.normal(size=ROWS).tolist()),
            ("target", last)]  # fmt: skip


def _as_csv(columns: Columns, delimiter: str = ",") -> str:
    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        quote = any(c in text for c in f'{delimiter}"\n\r')
        return '"' + text.replace('"', '""') + '"' if quote else text

    lines = [[name for name, _ in columns]]
    lines += [list(row) for row in zip(*(values for _, values in columns), strict=True)]
    return "\n".join(delimiter.join(map(cell, line)) for line in lines) + "\n"


def _as_parquet(columns: Columns, metadata: dict[bytes, bytes] | None = None) -> bytes:
    arrays = []
    for _, values in columns:
        try:
            arrays.append(values if isinstance(values, pa.Array) else pa.array(values))
        except (pa.ArrowException, OverflowError):
            arrays.append(pa.array([None if value is None else str(value) for value in values]))
    schema = pa.schema(
        [pa.field(n, a.type) for (n, _), a in zip(columns, arrays, strict=True)], metadata
    )
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), sink)
    return sink.getvalue()


def _file(rng, kind: str, columns: Columns, target: str | None = None) -> Hostile:
    names = [name for name, _ in columns]
    target = names[-1] if target is None else target
    keep = str(_pick(rng, names[:-1])) if len(names) > 1 and rng.random() < 0.5 else None
    if rng.random() < 0.5:
        return Hostile(kind, "t.parquet", _as_parquet(columns), target, keep)
    tab = rng.random() < 0.2
    text = _as_csv(columns, "\t" if tab else ",")
    return Hostile(kind, "t.tsv" if tab else "t.csv", text.encode("utf-8", "replace"), target, keep)


def _names(rng, kind: str) -> Hostile:
    """Hostile, empty and doubled names; the target's too."""
    columns = _sound(rng)
    for k in range(len(columns)):
        if rng.random() < 0.6:
            columns[k] = (str(_pick(rng, (*TEXTS, "", columns[0][0]))), columns[k][1])
    return _file(rng, kind, columns)


def _values(rng, kind: str) -> Hostile:
    """Hostile levels of a category and labels of classes."""
    columns = _sound(rng)
    few = [str(text) for text in rng.choice(np.array(TEXTS, dtype=object), 3)]
    columns[1] = (columns[1][0], [few["abc".index(v)] for v in columns[1][1]])
    if rng.random() < 0.7:
        columns[3] = ("target", [few[int(k % 2)] for k in range(ROWS)])
    if rng.random() < 0.3:
        columns.insert(0, ("free", [str(_pick(rng, TEXTS)) + str(k) for k in range(ROWS)]))
    return _file(rng, kind, columns)


def _numbers(rng, kind: str) -> Hostile:
    """Cells that are hardly numbers, or numbers that hardly fit."""
    columns = _sound(rng)
    for _ in range(int(rng.integers(1, 8))):
        which, row = int(rng.integers(len(columns))), int(rng.integers(ROWS))
        values = list(columns[which][1])
        pool = NUMBERS if rng.random() < 0.6 else NUMBER_TEXTS
        for r in range(row, ROWS) if rng.random() < 0.1 else (row,):
            values[r] = _pick(rng, pool)
        columns[which] = (columns[which][0], values)
    return _file(rng, kind, columns)


def _encoded(rng, kind: str) -> Hostile:
    """Other encodings, NULs, bytes that are no text."""
    columns = _sound(rng)
    columns[1] = ("kiñd", ["é" if value == "a" else value for value in columns[1][1]])
    text = _as_csv(columns)
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: text.encode(_pick(rng, ENCODINGS), "replace"),
        lambda: text.encode(_pick(rng, ENCODINGS), "replace"),
        lambda: text.replace("b", "b\0", 3).encode(),
        lambda: text.replace("size", "si\0ze").encode(),
        lambda: text.encode("latin-1"),
        lambda: b"\xff\xfe" + text.encode(),
        lambda: text.encode() + b"\0" * 1000,
        lambda: text.replace("\n", "\r").encode(),
        lambda: text.replace("\n", "\n\r", 5).encode(),
        lambda: text.encode()[:-7] + b"\xc3",
        lambda: bytes(rng.integers(256, size=3000, dtype=np.uint8)),
    )
    return Hostile(kind, "t.csv", _pick(rng, ways)(), "target", None)


def _huge(rng, kind: str) -> Hostile:
    """Huge cells, very many columns, very many lines, hardly any."""
    columns = _sound(rng)
    many = [(f"c{k}", [k % 7 + r * 0.5 for r in range(ROWS)]) for k in range(10_000)]
    ways: tuple[Callable[[], Columns], ...] = (
        lambda: [*columns[:1], ("kind", ["x" * 1_000_000, *columns[1][1][1:]]), *columns[2:]],
        lambda: [("n" * 1_000_000, columns[0][1]), *columns[1:]],
        lambda: [*columns[:3], ("target", ["y" * 300_000, *["no"] * (ROWS - 1)])],
        lambda: [*(many if rng.random() < 0.2 else many[:300]), *columns],
        lambda: [(name, values[:1]) for name, values in columns],
        lambda: [(name, values[:2]) for name, values in columns],
        lambda: [(name, []) for name, _ in columns],
        lambda: columns[3:],
        lambda: [(name, [values[0]] * ROWS) for name, values in columns],
        lambda: [(name, [None] * ROWS) for name, _ in columns],
    )
    return _file(rng, kind, _pick(rng, ways)())


def _broken(rng, kind: str) -> Hostile:
    """Lines of other lengths, quotes that never end, files that are something else."""
    columns = _sound(rng)
    text = _as_csv(columns)
    whole = _as_parquet(columns)
    cut = int(rng.integers(1, len(whole)))
    flipped = bytearray(whole)
    for _ in range(int(rng.integers(1, 9))):
        flipped[int(rng.integers(len(flipped)))] ^= 1 << int(rng.integers(8))
    ways: tuple[Callable[[], tuple[str, bytes]], ...] = (
        lambda: ("t.csv", text.replace("\n", ",1,2\n", 3).encode()),
        lambda: ("t.csv", text.replace(",", '"', 2).encode()),
        lambda: ("t.csv", b""),
        lambda: ("t.csv", b"\n" * 5000),
        lambda: ("t.csv", text.splitlines()[0].encode()),
        lambda: ("t.csv", ("\n" * 99 + text).encode()),
        lambda: ("t.csv", (text + ",,,\n" * 50).encode()),
        lambda: ("t.csv", whole),
        lambda: ("t.parquet", text.encode()),
        lambda: ("t.parquet", whole[:cut]),
        lambda: ("t.parquet", bytes(flipped)),
        lambda: ("t.parquet", bytes(flipped)),
        lambda: ("t.parquet", b"PAR1" + bytes(20) + b"PAR1"),
        lambda: ("t.csv.gz", gzip.compress(text.encode())[:-9]),
        lambda: ("t.csv.gz", gzip.compress(gzip.compress(text.encode()))),
        lambda: ("t.csv.gz", text.encode()),
        lambda: ("t.csv", gzip.compress(text.encode())),
        lambda: ("t.csv", b"PK\x03\x04" + bytes(60)),
        lambda: ("t.csv", json.dumps(dict(columns)).encode()),
        lambda: ("t.csv", b"<html><body><table><tr><td>1</td></tr></table></body></html>"),
        lambda: ("t.csv", text.replace(",", ";").encode()),
        lambda: ("t.csv", text.replace(",", "|").encode()),
    )
    name, data = _pick(rng, ways)()
    return Hostile(kind, name, data, "target", None)


def _typed(rng, kind: str) -> Hostile:
    """Parquet of types that are not numbers or texts, and with hostile words about pandas."""
    columns: Any = _sound(rng)
    counts = list(range(ROWS))
    kinds: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array([[k] for k in counts]),
        lambda: pa.array([{"a": k} for k in counts]),
        lambda: pa.array([[("a", k)] for k in counts], pa.map_(pa.string(), pa.int64())),
        lambda: pa.array(counts).cast(pa.decimal128(38, 10)),
        lambda: pa.array(counts, pa.timestamp("ns", "Europe/Vienna")),
        lambda: pa.array([k * 10**17 for k in counts], pa.timestamp("us")),
        lambda: pa.array(counts, pa.duration("s")),
        lambda: pa.array([str(k % 3) for k in counts]).dictionary_encode(),
        lambda: pa.array([bytes([255, k]) for k in counts], pa.binary()),
        lambda: pa.array([bytes([k, 0]) for k in counts], pa.binary(2)),
        lambda: pa.nulls(ROWS),
        lambda: pa.array([k % 2 == 0 for k in counts]),
        lambda: pa.array(np.array(counts, np.float16)),
        lambda: pa.array([2**64 - 1 - k for k in counts], pa.uint64()),
        lambda: pa.array(counts, pa.time64("ns")),
        lambda: pa.array(["a"] * ROWS, pa.large_string()),
        lambda: pa.array(["=1", None] * (ROWS // 2), pa.string_view()),
    )
    columns[int(rng.integers(len(columns)))] = (
        _pick(rng, ("typed", "target")), _pick(rng, kinds)()
    )  # fmt: skip
    words = {b"pandas": _pick(rng, (b"{", b"[" * 9000, b'{"columns": 3}', b"\xff", b"null"))}
    data = _as_parquet(columns, words if rng.random() < 0.3 else None)
    return Hostile(kind, "t.parquet", data, columns[-1][0], None)


KINDS: dict[str, Callable[[np.random.Generator, str], Hostile]] = {
    "names": _names,
    "values": _values,
    "numbers": _numbers,
    "encodings and NUL": _encoded,
    "sizes": _huge,
    "broken and mixed formats": _broken,
    "types of Parquet": _typed,
}
