"""Checks of claims against rows, by name for specs.

Methods are compared seed by seed; see `differences` for clear differences. With one seed no
difference is clear, unless the spec has `single = true` because the paper shows one run.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from directgp.registry import Registry
from experiments.differences import Difference, difference
from experiments.figure_rows import Row, grouped, paired_means, where

judges = Registry("judge")


class Verdict(NamedTuple):
    """The outcome of one claim or of a whole figure, and the reason."""

    outcome: str
    reason: str


def _by_share(held: int, total: int, least: float, reason: str) -> Verdict:
    """ "reproduced" if the claim holds in at least this share of the cases, "partly" if in some."""
    if total == 0:
        return Verdict("not run", "its runs are not in the store")
    outcome = "reproduced" if held >= least * total - 1e-9 else "partly" if held else "not"
    return Verdict(outcome, reason)


def _case(names: Sequence[str], group: Sequence[Any]) -> str:
    """The name of a group: "pol n = 500"."""
    named = zip(names, group, strict=True)
    words = (str(v) if n == "data" else f"{n} {v}" for n, v in named if v is not None)
    return " ".join(words)


class Comparison(NamedTuple):
    """A method against another in one case."""

    case: str
    method: str
    other: str
    found: Difference

    @property
    def clearness(self) -> float:
        """The difference in half-widths of its interval; unscaled without an interval."""
        width = self.found.half_width
        return self.found.mean / max(width, 1e-12) if np.isfinite(width) else self.found.mean

    def __str__(self) -> str:
        bars = f" ± {self.found.half_width:.2g}" if self.found.seeds > 1 else ", one seed"
        said = f"{self.case} {self.method} − {self.other} = {self.found.mean:+.3g}{bars}"
        return said.strip()


def _cases(rows: Sequence[Row], by: Sequence[str] | None) -> list[str]:
    """The labels that define cases: the given ones, or all but method and seed."""
    return [n for n in rows[0].labels if n not in ("method", "seed")] if by is None else list(by)


def _compared(
    rows: Sequence[Row],
    *,
    score: str,
    methods: Sequence[str],
    than: Sequence[str],
    by: Sequence[str] | None = None,
    best_of: bool = True,
    single: bool = False,
    test: str = "t",
    than_where: Mapping[str, Any] | None = None,
) -> list[Comparison]:
    """In each case, `methods` (with `best_of` the best of them by mean) against each of `than`.

    With `than_where` these have one setting in all cases: { beta = 1 } is the ELBO proper.
    """
    by, found = _cases(rows, by), []
    fixed = dict(than_where or {})
    for group, own in grouped(rows, by).items():
        case = dict(zip(by, group, strict=True)) | fixed
        beside = where(rows, {name: [value] for name, value in case.items()}) if fixed else own
        named = {name[0]: part for name, part in grouped(own, ["method"]).items()}
        others = {name[0]: part for name, part in grouped(beside, ["method"]).items()}
        means = paired_means(own, "method", score, methods)
        known = [method for method in methods if method in means]
        chosen = sorted(known, key=means.__getitem__)[:1] if best_of else known
        for method, other in itertools.product(chosen, than):
            gap = difference(named[method], others.get(other, []), score, single, test)
            if gap is not None:
                found.append(Comparison(_case(by, group), method, other, gap))
    return found


@judges.register("lower")
def lower(
    rows: Sequence[Row], *, least: float = 1.0, whole_cases: bool = False, **options: Any
) -> Verdict:
    """The score of `methods` (the best of them, as "taken together") is clearly lower.

    Options are those of `_compared`. `least` is the share of the comparisons in which the paper
    says so ("in three of four": 0.75); with `whole_cases`, of the cases in which all are.
    """
    found = _compared(rows, **options)
    held = [one.found.sign == -1 for one in found]
    return _held(found, held, least, whole_cases, options["score"])


@judges.register("not-higher")
def not_higher(
    rows: Sequence[Row], *, least: float = 1.0, whole_cases: bool = False, **options: Any
) -> Verdict:
    """The score of `methods` is comparable or lower: nowhere clearly higher.

    Where seeds are too few for the test to find a difference, the mean must not be higher.
    """
    found = _compared(rows, **options)
    held = [one.found.mean <= 0 or one.found.comparable for one in found]
    verdict = _held(found, held, least, whole_cases, options["score"])
    few = [one for one, good in zip(found, held, strict=True) if not (good or one.found.clear)]
    if not few:
        return verdict
    said = f"; of too few seeds to be clear, higher on average in {len(few)} (such as {few[0]})"
    return verdict._replace(reason=verdict.reason + said)


def _held(
    found: Sequence[Comparison], held: Sequence[bool], least: float, whole_cases: bool, score: str
) -> Verdict:
    if whole_cases:
        cases: dict[str, bool] = {}
        for one, good in zip(found, held, strict=True):
            cases[one.case] = cases.get(one.case, True) and good
        held = list(cases.values())
    return _by_share(sum(held), len(held), least, _said(found, score))


def _said(found: Sequence[Comparison], score: str) -> str:
    """Counts, and the extreme cases by name."""
    if not found:
        return "its runs are not in the store"
    signs = [one.found.sign for one in found]
    said = (
        f"{score} clearly lower in {signs.count(-1)} of {len(signs)} comparisons, "
        f"within the error bars in {signs.count(0)}, clearly higher in {signs.count(1)}"
    )
    worst = max(found, key=lambda one: one.clearness)
    best = min(found, key=lambda one: one.clearness)
    said += f" (worst: {worst})" if worst.found.sign == 1 else ""
    return said + (f" (clearest: {best})" if best.found.sign == -1 else "")


@judges.register("close")
def close(
    rows: Sequence[Row],
    *,
    score: str,
    methods: Sequence[str],
    to: str,
    within: float | int,
    of: str | None = None,
    by: Sequence[str] | None = None,
    least: float = 1.0,
) -> Verdict:
    """The mean score of `methods` is within `within` of that of `to`.

    With `of`, `within` is a share of the distance between `to` and that method: "recovers 90 % of
    what exact gradients gain over it" is within = 0.1.
    """
    by = _cases(rows, by)
    held, total, furthest = 0, 0, (-1.0, "")
    for group, own in grouped(rows, by).items():
        means = paired_means(own, "method", score, [*methods, to, *([of] if of else [])])
        if to not in means or (of is not None and of not in means):
            continue
        scale = 1.0 if of is None else abs(means[of] - means[to])
        for method in methods:
            if method not in means:
                continue
            gap = abs(means[method] - means[to])
            share = gap / scale if scale > 0 else float("inf") if gap else 0.0
            total, held = total + 1, held + (share <= within)
            distance = f"{gap:.3g}" if of is None else f"{share:.0%} of the way to {of}"
            furthest = max(furthest, (share, f"{_case(by, group)} {method}: {distance}".strip()))
    said = f"|{score} − that of {to}| within {within:g}" + (f" of the way to {of}" if of else "")
    return _by_share(held, total, least, f"{said} in {held} of {total}; furthest {furthest[1]}")


@judges.register("ranks")
def ranks(
    rows: Sequence[Row],
    *,
    score: str,
    order: Sequence[str],
    by: Sequence[str] | None = None,
    slack: float | int = 0.0,
    least: float = 1.0,
) -> Verdict:
    """Mean scores come in this order, lowest first, up to `slack`."""
    by = _cases(rows, by)
    held, total, broken = 0, 0, []
    for group, own in grouped(rows, by).items():
        means = paired_means(own, "method", score, order)
        known = [method for method in order if method in means]
        wrong = [
            f"{_case(by, group)} {a} {means[a]:.4g} > {b} {means[b]:.4g}".strip()
            for a, b in itertools.pairwise(known)
            if not means[a] <= means[b] + slack  # a NaN is in no order
        ]
        if len(known) == len(order):
            total, held, broken = total + 1, held + (not wrong), broken + wrong
    said = f"{score} in the order {' ≤ '.join(order)} in {held} of {total}"
    return _by_share(held, total, least, said + (f"; not: {broken[0]}" if broken else ""))


@judges.register("monotone")
def monotone(
    rows: Sequence[Row],
    *,
    score: str,
    along: str,
    direction: str = "falling",
    methods: Sequence[str] | None = None,
    slack: float | int = 0.0,
    least: float = 1.0,
) -> Verdict:
    """The mean score falls (or rises) along a label, up to `slack`, for every method and group."""
    sign = {"falling": 1.0, "rising": -1.0}[direction]
    rows = rows if methods is None else where(rows, {"method": list(methods)})
    names = [n for n in (rows[0].labels if rows else ()) if n not in (along, "seed")]
    held, total, broken = 0, 0, ""
    for group, own in grouped(rows, names).items():
        if len(grouped(own, [along])) < 2:
            continue
        means = paired_means(own, along, score)
        path = [means[place] for place in sorted(means)]
        good = len(path) > 1 and bool(np.all(sign * np.diff(path) <= slack))
        total, held = total + 1, held + good
        broken = broken or ("" if good else f"; not for {_case(names, group)}")
    return _by_share(held, total, least, f"{score} {direction} in {held} of {total}{broken}")


_SIDES: Mapping[str, Callable[[float, float], bool]] = {
    "above": lambda place, bound: place > bound,
    "below": lambda place, bound: place < bound,
}


@judges.register("optimum")
def optimum(
    rows: Sequence[Row],
    *,
    score: str,
    along: str,
    side: str,
    bound: float | int,
    methods: Sequence[str] | None = None,
    least: float = 1.0,
) -> Verdict:
    """The value of a label at which the mean score is lowest lies above or below a bound."""
    rows = rows if methods is None else where(rows, {"method": list(methods)})
    names = [n for n in (rows[0].labels if rows else ()) if n not in (along, "seed")]
    held, said = 0, []
    for group, own in grouped(rows, names).items():
        if len(grouped(own, [along])) < 2:
            continue
        means, name = paired_means(own, along, score), _case(names, group)
        if not means or not np.all(np.isfinite(list(means.values()))):
            said.append(f"{name}: no lowest {score}, for no seed has numbers at all {along}")
            continue
        place = min(means, key=means.__getitem__)
        held += _SIDES[side](place, bound)
        said.append(f"{name}: lowest {score} at {along} = {place:g}")
    return _by_share(held, len(said), least, "; ".join(said))
