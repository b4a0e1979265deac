"""Specs: tables and figures of the papers as TOML files, and the jobs they define.

docs/reproducing.md explains the format. The jobs are all combinations of

    datasets × what varies × methods × seeds

and the record of a job merges `[job]`, the tier, the dataset, the varying values and the method;
later ones override earlier ones. Names (of methods, of the figure) are labels and not part of a
record, so that two figures that need the same run share it.
"""

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from experiments.errors import SpecError
from experiments.job import Job, Record

TIERS = ("quick", "full")
_LABELS_ONLY = ("name", "mark", "max_size")
"""Fields of a dataset or method that are not part of a record: its label and remark, and the number
of training rows it has (larger sizes are left out)."""
_TIER_FIELDS = ("seeds", "datasets", "methods", "vary", "job", "estimate")


@dataclass(frozen=True)
class Cell:
    """One job with its labels in the figure: data, method, seed and what varies."""

    job: Job
    labels: dict[str, Any]
    estimate: float | int
    """Seconds it takes on one core according to the spec."""


@dataclass(frozen=True)
class Spec:
    """One table or figure."""

    name: str
    title: str
    figure: str
    """Its number in the paper, such as "Figure 1 (a)"."""
    claim: str
    """The claim of the paper, as text."""
    job: Record
    also: list[str] = field(default_factory=list)
    """Other names: figures of the paper that show the same runs."""
    differs: str = ""
    """How our setting differs from the paper's, as text."""
    note: str = ""
    """How to read our result, as text without numbers, which come from the store alone."""
    estimate: float | int = 30
    """Seconds a job takes on one core, used until there are stored timings; a tier may override
    it."""
    datasets: list[dict[str, Any]] = field(default_factory=list)
    methods: list[dict[str, Any]] = field(default_factory=list)
    vary: dict[str, list] = field(default_factory=dict)
    quick: dict[str, Any] = field(default_factory=dict)
    full: dict[str, Any] = field(default_factory=dict)
    plots: list[dict[str, Any]] = field(default_factory=list)
    claims: list[dict[str, Any]] = field(default_factory=list)
    """Checks of the claim: each has `judge`, a name in `judges`, and its options."""

    def __post_init__(self):
        if not self.job.get("kind"):
            raise SpecError(f"{self.name}: [job] needs a kind")
        for group in ("datasets", "methods"):
            names = [entry.get("name") for entry in getattr(self, group)]
            if None in names or len(set(names)) != len(names):
                raise SpecError(f"{self.name}: each of {group} needs a unique name")
        for tier in TIERS:
            self._check_tier(tier)

    @property
    def paper(self) -> str:
        """The paper's key, which is the folder of the spec: dlm, gvi, lossem, dspp."""
        return self.name.split("/")[0]

    @property
    def marks(self) -> dict[str, str]:
        """Remarks on datasets that are a part of the paper's data or replace it."""
        return {entry["name"]: entry["mark"] for entry in self.datasets if entry.get("mark")}

    def cells(self, tier: str) -> list[Cell]:
        """The jobs of a tier ("quick" or "full") with their labels."""
        own = self._tier(tier)
        shared = self.job | own.get("job", {})
        seeds = own.get("seeds", 1)
        seeds = list(range(seeds)) if isinstance(seeds, int) else seeds
        estimate = own.get("estimate", self.estimate)
        vary = self.vary | own.get("vary", {})
        cells = []
        for dataset in self._chosen("datasets", own):
            for values in itertools.product(*vary.values()):
                varied = dict(zip(vary, values, strict=True))
                if varied.get("size", 0) > dataset.get("max_size", math.inf):
                    continue
                for method in self._chosen("methods", own):
                    record = shared | _fields(dataset, "data") | varied | _fields(method)
                    labels = _label("data", dataset) | varied | _label("method", method)
                    cells += [
                        Cell(Job(record | {"seed": seed}), labels | {"seed": seed}, estimate)
                        for seed in seeds
                    ]
        return cells

    def _tier(self, tier: str) -> dict[str, Any]:
        if tier not in TIERS:
            raise SpecError(f"unknown tier {tier!r}; choose one of: {', '.join(TIERS)}")
        return getattr(self, tier)

    def _chosen(self, group: str, tier: Mapping[str, Any]) -> list[dict[str, Any]]:
        entries = getattr(self, group) or [{}]  # a spec without datasets still has jobs
        wanted = tier.get(group)
        return entries if wanted is None else [e for e in entries if e["name"] in wanted]

    def _check_tier(self, tier: str) -> None:
        own = self._tier(tier)
        unknown = set(own) - set(_TIER_FIELDS)
        if unknown:
            raise SpecError(
                f"{self.name}: [{tier}] has no field {', '.join(sorted(unknown))}; "
                f"choose from: {', '.join(_TIER_FIELDS)}"
            )
        for group in ("datasets", "methods"):
            missing = set(own.get(group, ())) - {entry["name"] for entry in getattr(self, group)}
            if missing:
                raise SpecError(f"{self.name}: [{tier}] names unknown {group} {sorted(missing)}")


def _fields(entry: Mapping[str, Any], default: str = "") -> Record:
    """What a dataset or method adds to a record; the name of a dataset is that of its table."""
    record = {name: value for name, value in entry.items() if name not in _LABELS_ONLY}
    return {default: entry["name"]} | record if default and entry else record


def _label(axis: str, entry: Mapping[str, Any]) -> dict[str, str]:
    return {axis: entry["name"]} if entry else {}


def load_specs(folder: Path | None = None) -> dict[str, Spec]:
    """All specs by name ("dlm/fig1a"), from `folder`, or those of the papers if it is None."""
    root = Path(str(files("experiments").joinpath("specs"))) if folder is None else folder
    if not root.is_dir():
        raise SpecError(f"there is no folder of specs {root}")
    paths = [path for path in root.glob("*/*.toml") if not path.name.startswith("_")]
    paths.sort(key=lambda path: (path.parent.name, _natural(path.stem)))
    return {spec.name: spec for spec in (read_spec(path) for path in paths)}


def _natural(name: str) -> list[tuple[str, int]]:
    """Key for natural sorting: supp2 before supp10."""
    parts = re.findall(r"(\D*)(\d*)", name)
    return [(text, int(number or 0)) for text, number in parts]


def read_spec(path: Path) -> Spec:
    """Read one spec; its `base`, if any, is a file in the same folder whose fields it inherits."""
    name = f"{path.parent.name}/{path.stem}"
    found = _read(path)
    unknown = set(found) - {item.name for item in fields(Spec)} - {"name"}
    if unknown:
        raise SpecError(f"{name}: a spec has no field {', '.join(sorted(unknown))}")
    try:
        return Spec(name=name, **found)
    except TypeError as error:
        raise SpecError(f"{name}: {str(error).removeprefix('Spec.__init__() ')}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path} is not TOML ({error})") from None
    base = found.pop("base", None)
    return found if base is None else _merged(_read(path.with_name(f"{base}.toml")), found, path)


def _merged(base: dict[str, Any], own: dict[str, Any], path: Path) -> dict[str, Any]:
    """Tables are merged; a text among datasets or methods means the base's entry of that name."""
    merged = dict(base)
    for name, value in own.items():
        if name in ("datasets", "methods"):
            merged[name] = list(_named(value, base.get(name, []), path))
        elif isinstance(value, dict) and isinstance(base.get(name), dict):
            merged[name] = base[name] | value
        else:
            merged[name] = value
    return merged


def _named(entries: Sequence[Any], base: list[dict[str, Any]], path: Path) -> Iterator[dict]:
    known = {entry["name"]: entry for entry in base}
    for entry in entries:
        if not isinstance(entry, str):
            yield entry
        elif entry in known:
            yield known[entry]
        else:
            raise SpecError(f"{path}: its base has no {entry!r}; it has {', '.join(known)}")


def select(specs: Mapping[str, Spec], names: Sequence[str]) -> list[Spec]:
    """The named specs, in order and without duplicates.

    Args:
        specs: all specs by name.
        names: names of figures or of papers (all their figures); none: everything.
    """
    papers = {spec.paper for spec in specs.values()}
    chosen: dict[str, Spec] = {}
    for name in names or sorted(papers):
        found = {n: s for n, s in specs.items() if name in (n, s.paper, *s.also)}
        if not found:
            near = [known for known in specs if known.startswith(f"{name.split('/')[0]}/")]
            raise SpecError(
                f"there is no {name!r} to reproduce; choose a paper ({', '.join(sorted(papers))}) "
                f"or a figure such as {(near or sorted(specs))[0]}; see python -m experiments list"
            )
        chosen |= found
    return list(chosen.values())
