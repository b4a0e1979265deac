"""A judge that checks that a score stays constant along a label, e.g. the share of outliers."""

from collections.abc import Sequence

from experiments.figure_rows import Row, grouped, paired_means, where
from experiments.judges import Verdict, judges


@judges.register("steady")
def steady(
    rows: Sequence[Row],
    *,
    score: str,
    along: str,
    within: float | int,
    methods: Sequence[str] | None = None,
) -> Verdict:
    """From the lowest value of a label to the highest, the mean score rises by at most `within`."""
    rows = rows if methods is None else where(rows, {"method": list(methods)})
    rises = {}
    for (data, method), own in grouped(rows, ["data", "method"]).items():
        if len(grouped(own, [along])) > 1:
            means = paired_means(own, along, score)
            rise = means[max(means)] - means[min(means)] if means else float("nan")
            rises[f"{data} {method}"] = rise
    if not rises:
        return Verdict("not run", "its runs are not in the store")
    held = sum(rise <= within for rise in rises.values())
    outcome = "reproduced" if held == len(rises) else "partly" if held else "not"
    said = ", ".join(f"{case} {rise:+.3g}" for case, rise in rises.items())
    return Verdict(outcome, f"{score} rises along {along} by {said} (allowed {within:g})")
