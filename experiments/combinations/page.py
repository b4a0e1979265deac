"""docs/combinations.md, written from stored outcomes."""

from collections import Counter
from collections.abc import Iterable, Sequence

from directgp.likelihoods import likelihoods
from experiments.combinations.exact import EXACT, REGRESSION
from experiments.combinations.outcome import STEPS, Outcome
from experiments.combinations.parts import DIVERGENCES, INDUCING, MODELS, ROWS
from experiments.combinations.reasons import MATHEMATICS, MISSING, UNKNOWN, Reason, reason_for

TRAINS, FAILS, NOT_RUN = "✔", "✘", "·"


def page_of(found: Sequence[Outcome]) -> str:
    """The page: a table for each model, divergences that differ, and every refusal with its reason.

    Args:
        found: the outcomes of a file.

    Returns:
        Markdown.
    """
    letters = _letters(found)
    parts = [_introduction(found)]
    for model in MODELS:
        own = [each for each in found if each.model == model]
        if own:
            parts.append(f"## {model[0].upper()}{model[1:]}\n\n{_table(own, letters)}")
    parts.append(_exact([each for each in found if each.model == EXACT], letters))
    parts.append(_divergences(found))
    parts.append(_refusals(found, letters))
    return "\n\n".join(part for part in parts if part) + "\n"


def _introduction(found: Sequence[Outcome]) -> str:
    trained = [each for each in found if each.model != EXACT]
    names = ", ".join(f"`{name}`" for name in DIVERGENCES)
    said = _counted(trained, len(DIVERGENCES), "train to finite numbers")
    known = {each.model for each in found}
    left = [model for model in (*MODELS, EXACT) if model not in known]
    absent = f" Not run yet: {'; '.join(left)}." if left else ""
    return f"""# Combinations

Every loss with every likelihood, model and divergence ({names}):
{said}. Exact inference is counted by itself. This page is written by

```sh
python -m experiments combinations --page docs/combinations.md
```

which runs what `experiments/combinations/outcomes.jsonl` lacks: {STEPS} steps of gradient descent
on {ROWS} rows with {INDUCING} inducing points, for each divergence on its own. A combination trains
({TRAINS}) if the objective, its gradient and the trained model are finite. A letter stands for a
[refusal](#refusals), {FAILS} for numbers that are not finite, {NOT_RUN} for what was not
run.{absent}"""


def _counted(found: Sequence[Outcome], number: int, succeed: str) -> str:
    """How many of these succeed and why others are refused; each of them counts `number` times."""
    kinds = Counter(reason_for(each.refusal).kind for each in found if each.refusal)
    fine = sum(bool(each.finite) and all(each.finite) for each in found)
    bad = sum(bool(each.finite) and not all(each.finite) for each in found)
    said = [
        f"{fine * number} of {len(found) * number} {succeed}",
        f"{kinds[MATHEMATICS] * number} are refused because there is nothing to compute",
        f"{kinds[MISSING] * number} because work is missing",
    ]
    if kinds[UNKNOWN]:
        said.append(f"{kinds[UNKNOWN] * number} for a reason that is not written down")
    if bad:
        said.append(f"{bad * number} have numbers that are not finite")
    return "; ".join(said)


def _letters(found: Iterable[Outcome]) -> dict[Reason, str]:
    """A letter for each reason, in the order in which they occur."""
    reasons = dict.fromkeys(reason_for(each.refusal) for each in found if each.refusal)
    return {reason: _letter(number) for number, reason in enumerate(reasons)}


def _letter(number: int) -> str:
    """A, b, …, z, aa, ab, …"""
    first, last = divmod(number, 26)
    return (chr(96 + first) if first else "") + chr(97 + last)


def _mark(outcome: Outcome | None, letters: dict[Reason, str]) -> str:
    if outcome is None:
        return NOT_RUN
    if outcome.refusal:
        return letters[reason_for(outcome.refusal)]
    return TRAINS if all(outcome.finite) else FAILS


def _table(own: Sequence[Outcome], letters: dict[Reason, str]) -> str:
    """Losses by likelihoods."""
    by_names = {(each.loss, each.likelihood): each for each in own}
    columns = [name for name in likelihoods if any(name == each.likelihood for each in own)]
    rows = list(dict.fromkeys(each.loss for each in own))
    lines = ["| | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    for loss in rows:
        marks = [_mark(by_names.get((loss, column)), letters) for column in columns]
        lines.append(f"| `{loss}` | " + " | ".join(marks) + " |")
    return "\n".join(lines)


def _exact(own: Sequence[Outcome], letters: dict[Reason, str]) -> str:
    if not own:
        return ""
    regression = [each for each in own if each.loss.startswith(REGRESSION)]
    names = ", ".join(f"`{each.loss.removeprefix(REGRESSION)}`" for each in regression)
    by_inference = [each for each in own if each not in regression]
    return f"""## Exact inference

Without inducing points and without a divergence. `exact.regression` is for Gaussian noise, its
kernel chosen by {names}: {_counted(regression, 1, "predict finite numbers")}. `inference=` by
likelihood: {_counted(by_inference, 1, "predict finite numbers")}.

{_table(by_inference, letters)}"""


def _divergences(found: Iterable[Outcome]) -> str:
    differing = [
        f"- {each.model}, {each.likelihood}, `{each.loss}`: only with "
        + ", ".join(name for name, fine in zip(DIVERGENCES, each.finite, strict=True) if fine)
        for each in found
        if each.model != EXACT and len(set(each.finite)) > 1
    ]
    listed = "\n".join(differing) or "None: what trains with one divergence trains with all."
    return f"## Where divergences differ\n\n{listed}"


def _refusals(found: Iterable[Outcome], letters: dict[Reason, str]) -> str:
    texts: dict[Reason, list[str]] = {}
    for each in found:
        if each.refusal:
            texts.setdefault(reason_for(each.refusal), []).append(each.refusal)
    lines = ["| | combinations | the library says | why | |", "| --- | --- | --- | --- | --- |"]
    for reason, letter in letters.items():
        said = texts[reason][0].replace("|", "\\|")
        number = len(texts[reason])
        lines.append(f"| {letter} | {number} | {said} | {reason.why} | {reason.kind} |")
    table = "\n".join(lines)
    return f"""## Refusals

Every line with which the library refuses a combination (the first, where lines differ only in
names), and whether the reason is mathematics (the thing does not exist, or has another name) or
work that is missing.

{table}"""
