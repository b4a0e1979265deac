"""The report of decisions: actions, expected and realised costs, comparison with policies."""

from dataclasses import dataclass, field
from functools import singledispatch

import numpy as np

from directgp import metrics
from directgp.decisions.actions import Decision
from directgp.decisions.class_costs import TableCost
from directgp.decisions.costs import Cost
from directgp.decisions.policies import Policy
from directgp.report import figures_costs, html
from directgp.report.findings import Finding
from directgp.report.judged import Table
from directgp.report.numbers import mean_and_error, number, percent, with_error
from directgp.report.sections import cell

_WORST = 10


@dataclass(frozen=True)
class Decided:
    """Decisions for all rows and, where y is known, their realised costs.

    `known` are the decisions for the rows with known `y`; `policies` are the realised costs of the
    model's actions and of the reference policies.
    """

    name: str
    decision: Decision
    cost: str
    known: Decision | None = None
    y: np.ndarray | None = None
    policies: list[Policy] = field(default_factory=list)


def saving(decided: Decided) -> Finding:
    """Whether the model's actions cost less than the best policy without a model."""
    if not decided.policies:
        expected = float(decided.decision.expected_cost.mean())
        sentence = f"The expected cost per row is {number(expected)}; no target is known."
        seen = ("Expected cost per row", number(expected))
        return Finding("plain", "no realised costs", sentence, seen)
    ours, best, *_ = decided.policies
    seen = ("Cost per row", number(ours.mean))
    costs = f"{with_error(ours.mean, ours.error)} per row; {best.name} would cost "
    costs += with_error(best.mean, best.error)
    constant = next((p for p in decided.policies[1:] if p.name.startswith("always")), best)
    if constant is not best:
        costs += f", and {constant.name} {with_error(constant.mean, constant.error)}"
    if best.more > 2 * best.more_error:
        share = f"{percent(best.more / best.mean, 0)} cheaper than {best.name}"
        return Finding("good", share, f"The model's actions cost {costs}.", seen)
    if best.more < -2 * best.more_error:
        sentence = f"The model's actions cost {costs}: use that policy instead."
        return Finding("warn", f"more expensive than {best.name}", sentence, seen)
    sentence = f"The model's actions cost {costs}. The difference is within two standard errors."
    return Finding("plain", f"no clear gain over {best.name}", sentence, seen)


def decision_report(decided: Decided, rows: Table) -> str:
    """One self-contained HTML page about actions, their costs, and other policies.

    Args:
        decided: the actions, and realised costs where the target is known.
        rows: the rows of the realised costs in the user's units and names.
    """
    found = saving(decided)
    title, sentence = f"Acting on {rows.target}: {found.short}", found.sentence
    count = len((decided.known or decided.decision).predictive)
    header = (
        f'<p class="kicker">{html.text(decided.name)} on {html.text(rows.name)}, '
        f"{count:,} rows</p><h1>{html.text(title)}</h1>{html.warning(rows.warning)}"
        f"{html.verdict(found.tone, (f'{found.short[:1].upper()}{found.short[1:]}.', sentence))}"
        f"{html.tiles(_tiles(decided))}"
    )
    parts = [
        _costs(decided),
        html.section("Other actions", html.side_by_side(_figures(decided))),
        _actions(decided.decision.cost, decided, rows),
        _most_expensive(decided, rows),
    ]
    about = {"cost": decided.cost} | dict(rows.facts)
    parts.append(html.section("Model and cost", html.facts(about)))
    return html.page(title, header, "\n".join(part for part in parts if part))


def _tiles(decided: Decided):
    expected = decided.decision.expected_cost
    if decided.policies:
        ours, best, *_ = decided.policies
        yield "Realised cost per row", *mean_and_error(ours.mean, ours.error)
        yield "Best alternative", mean_and_error(best.mean, best.error)[0], best.name
        expected_here = float(decided.known.expected_cost.mean()) if decided.known else np.nan
        meaning = "close to the realised cost if the model is calibrated"
        yield "Expected cost of these rows", number(expected_here), meaning
    else:
        yield "Expected cost per row", number(float(expected.mean())), "averaged over all rows"
    second = decided.decision.second_best_cost
    if second is not None:
        close = float(np.mean(second - expected < 0.1 * np.maximum(second, 1e-300)))
        yield "Close calls", percent(close), "rows whose second best action costs at most 10 % more"


def _costs(decided: Decided) -> str:
    if not decided.policies:
        return ""
    assert decided.y is not None
    body = [
        (
            policy.name,
            with_error(policy.mean, policy.error),
            "" if k == 0 else _signed(policy.more, policy.more_error),
            number(float(policy.costs.sum())),
        )
        for k, policy in enumerate(decided.policies)
    ]
    return html.section(
        "Realised costs",
        html.table(
            f"Realised cost of {len(decided.y):,} rows, ± one standard error. The difference is "
            "paired, row by row.",
            ("policy", "cost per row", "more than the model's", "all rows"),
            body,
            chosen=int(np.argmin([policy.mean for policy in decided.policies])),
        ),
    )


def _signed(mean: float, error: float) -> str:
    return ("+" if mean > 0 else "") + with_error(mean, error)


def _figures(decided: Decided) -> list[str]:
    chosen = decided.decision if decided.known is None else decided.known
    drawn = [figures_costs.cost_curve(chosen.cost, chosen, decided.y)]
    if decided.y is not None:
        drawn.append(figures_costs.expected_against_realised(chosen, decided.y))
    if len(decided.policies) > 1:
        drawn.append(figures_costs.policy_gaps(decided.policies))
    return drawn


@singledispatch
def _actions(cost: Cost, decided: Decided, rows: Table) -> str:
    """Numbers: quantiles of the actions."""
    action = np.asarray(decided.decision.action, dtype=np.float64)
    named = (
        {"action": action} if action.ndim == 1 else {"lower": action[:, 0], "upper": action[:, 1]}
    )
    levels = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
    body = [(name, *map(number, np.quantile(v, levels).tolist())) for name, v in named.items()]
    heads = ("smallest", "5 %", "25 %", "median", "75 %", "95 %", "largest")
    return html.section(
        "Actions",
        html.table(f"Quantiles of the actions of {len(action):,} rows.", ("", *heads), body),
    )


@_actions.register
def _(cost: TableCost, decided: Decided, rows: Table) -> str:
    """A list of actions: how often each is taken, by true class, and what it costs."""
    chosen = decided.decision if decided.known is None else decided.known
    counts = np.bincount(chosen.action.astype(np.intp), minlength=len(cost.names))
    if decided.y is None:
        body = [
            (name, f"{n:,}", percent(n / max(counts.sum(), 1)))
            for name, n in zip(cost.names, counts.tolist(), strict=True)
        ]
        caption = "How often each action is chosen."
        return html.section("Actions", html.table(caption, ("action", "rows", "share"), body))
    real = chosen.realised(decided.y)
    body = []
    for k in range(int(decided.y.max()) + 1 if rows.classes is None else len(rows.classes)):
        cells = []
        for a in range(len(cost.names)):
            which = (decided.y == k) & (chosen.action == a)
            total = float(real[which].sum())
            cells.append(f"{int(which.sum()):,} (cost {number(total)})")
        body.append((f"true “{rows.class_name(k)}”", *cells))
    return html.section(
        "Actions",
        html.table(
            "Rows by true class and action, with their total cost.",
            ("truth ↓ action →", *cost.names),
            body,
        ),
    )


def _most_expensive(decided: Decided, rows: Table) -> str:
    """The rows with the largest realised cost; `rows` are those with known y."""
    if decided.known is None or decided.y is None:
        return ""
    chosen = decided.known
    real = chosen.realised(decided.y)
    worst = np.argsort(-real, kind="stable")[:_WORST]
    worst = worst[real[worst] > 0]
    if not worst.size:
        return ""
    named = chosen.named
    columns = list(rows.columns)[:6]
    body = []
    for row in worst.tolist():
        action = named[row]
        shown = (
            action if isinstance(action, str) else " to ".join(map(number, np.atleast_1d(action)))
        )
        truth = decided.y[row]
        body.append(
            (
                rows.row_name(row),
                rows.class_name(int(truth)) if rows.classes is not None else number(float(truth)),
                shown,
                number(float(chosen.expected_cost[row])),
                number(float(real[row])),
                *(cell(rows.columns[column][row]) for column in columns),
            )
        )
    mean = metrics.standard_error(real)[0]
    share = float(real[worst].sum() / max(real.sum(), 1e-300))
    alike = int(np.sum(real == real[worst[-1]]) - np.sum(real[worst] == real[worst[-1]]))
    ties = f" {alike} more rows cost as much as the last of them." if alike else ""
    return html.section(
        "Most expensive rows",
        html.table(
            f"The {len(worst)} most expensive rows, {percent(share)} of the total cost.{ties} "
            f"The mean cost per row is {number(mean)}; {rows.row_order}.",
            ("row", f"true {rows.target}", "action", "expected cost", "realised cost", *columns),
            body,
        ),
    )
