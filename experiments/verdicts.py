"""The verdict on a figure: each claim of its spec evaluated by its judge."""

from collections.abc import Sequence

from experiments import average_ranks, steady  # noqa: F401  (they fill the registry)
from experiments.figure_rows import Evidence, where
from experiments.judges import Verdict, judges

OUTCOMES = ("reproduced", "partly", "not", "not run")


def judge(found: Evidence) -> tuple[Verdict, list[tuple[str, Verdict]]]:
    """The verdict on a figure, and for each of its claims the text and the verdict."""
    if not found.enough:
        few = Verdict("not run", f"{found.found} of {found.planned} runs are too few to judge")
        return few, [(claim["says"], few) for claim in found.spec.claims]
    single = []
    for claim in found.spec.claims:
        options = {k: v for k, v in claim.items() if k not in ("judge", "says", "where")}
        rows = where(found.rows, claim.get("where"))
        verdict = (
            judges.lookup(claim["judge"])(rows, **options)
            if rows
            else Verdict("not run", "none of its runs is in the store")
        )
        single.append((claim["says"], verdict))
    return _so_far(_together([verdict for _, verdict in single]), found), single


def _so_far(verdict: Verdict, found: Evidence) -> Verdict:
    """With a word on how much of its tier has been run, where some is missing."""
    if found.complete:
        return verdict
    said = f"{verdict.reason}; so far, by {found.found} of {found.planned} runs"
    return verdict._replace(reason=said)


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    judged = [verdict.outcome for verdict in verdicts if verdict.outcome != "not run"]
    if not judged:
        return Verdict("not run", "nothing to judge yet")
    counts = {outcome: judged.count(outcome) for outcome in OUTCOMES}
    said = ", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number)
    left = len(verdicts) - len(judged)
    said += f", {left} not run" * bool(left)
    if counts["reproduced"] == len(verdicts):
        return Verdict("reproduced", f"claims: {said}")
    whole = "not" if counts["not"] == len(judged) else "partly"
    return Verdict(whole, f"claims: {said}")
