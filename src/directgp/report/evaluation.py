"""The report of one model."""

from collections.abc import Sequence
from dataclasses import replace

from directgp import metrics
from directgp.predictive import ClassProbabilities, Predictive
from directgp.report import findings, html, sections
from directgp.report.judged import Judged, Table, Targets, baseline
from directgp.report.numbers import mean_and_error


def headline(judged: Judged, rows: Table) -> tuple[findings.Finding, findings.Finding]:
    """The two main findings: calibration, and the gain over the baseline.

    Args:
        judged: predictions and observed targets.
        rows: the same rows, with the training targets for the baseline.
    """
    trivial = baseline(judged.predictive, _known(judged, rows))
    return findings.calibrated(judged.predictive, judged.y), findings.gain(
        judged, trivial, _what(judged)
    )


def evaluation_report(judged: Judged, rows: Table) -> str:
    """One self-contained HTML page with the scores, calibration and errors of one model.

    Args:
        judged: its predictions, and the observed targets.
        rows: the same rows in the user's units and names.
    """
    trivial = baseline(judged.predictive, _known(judged, rows))
    calibrated, better = headline(judged, rows)
    title = f"Predicting {rows.target}: {better.short}, {calibrated.short}"
    header = (
        f'<p class="kicker">{html.text(judged.name)} on {html.text(rows.name)}, '
        f"{len(judged.y):,} rows</p><h1>{html.text(title)}</h1>{html.warning(rows.warning)}"
        f"{html.verdict(_tone(calibrated, better), *_sentences(judged, calibrated, better))}"
        f"{html.hints(rows.hints)}"
        f"{html.tiles(_tiles(judged, trivial, better, calibrated))}"
    )
    body = [
        html.section("Scores", sections.scores(judged, trivial, _what(judged))),
        body_of(judged, rows),
    ]
    return html.page(title, header, "\n".join(body))


def report_of_targets(judged: Sequence[tuple[Judged, Table]]) -> str:
    """The page of a model with one or several targets: findings first, then each target."""
    if len(judged) == 1:
        return evaluation_report(*judged[0])
    first, rows = judged[0]
    found = [(each, table, *headline(each, table)) for each, table in judged]
    good = [table.target for _, table, _, better in found if better.tone == "good"]
    title = f"Predicting {len(judged)} targets: {len(good)} clearly better than the baseline"
    header = (
        f'<p class="kicker">{html.text(first.name)} on {html.text(rows.name)}</p>'
        f"<h1>{html.text(title)}</h1>{html.warning(rows.warning)}"
        + "".join(
            html.verdict(
                _tone(calibrated, better),
                (f"{table.target}: {better.short}, {calibrated.short}.", better.sentence),
            )
            for _, table, calibrated, better in found
        )
        + html.hints(rows.hints)
    )
    body = []
    for place, (each, table, *_) in enumerate(found):
        trivial = baseline(each.predictive, _known(each, table))
        # Sections common to all targets are shown once, under the first.
        own = table if place == 0 else replace(table, facts={})
        shared = each if place == 0 else replace(each, history={}, beta_curve={})
        scores = sections.scores(each, trivial, _what(each))
        body.append(html.section(table.target, scores, intro=f"{len(each.y):,} rows."))
        body.append(body_of(shared, own))
    return html.page(title, header, "\n".join(body))


def body_of(judged: Judged, rows: Table) -> str:
    """The sections about one model below its scores.

    Args:
        judged: predictions and observed targets.
        rows: the same rows in the user's units and names.
    """
    parts = [
        sections.figures(judged.predictive, judged, rows),
        sections.training(judged),
        sections.inputs(judged, _effect_on(judged, rows)),
        sections.worst_rows(judged, rows),
    ]
    if rows.facts:
        parts.append(html.section("Model", html.facts(rows.facts)))
    return "\n".join(part for part in parts if part)


def _effect_on(judged: Judged, rows: Table) -> str:
    """What effects are drawn of: the target, or the probability of the second of two classes."""
    if isinstance(judged.predictive, ClassProbabilities):
        return f"P(“{rows.class_name(1)}”)"
    return rows.target


def _known(judged: Judged, rows: Table) -> Targets:
    if rows.training is not None:
        return rows.training
    predictive = judged.predictive
    classes = predictive.num_classes if isinstance(predictive, ClassProbabilities) else 0
    return Targets.of(judged.y, classes)


def _what(judged: Judged) -> str:
    classes = isinstance(judged.predictive, ClassProbabilities)
    return f"always predicting the {'base rate' if classes else 'mean'}"


def _tone(*found: findings.Finding) -> str:
    tones = {finding.tone for finding in found}
    return "warn" if "warn" in tones else "plain" if "plain" in tones else "good"


def _sentences(
    judged: Judged, calibrated: findings.Finding, better: findings.Finding
) -> list[tuple[str, str]]:
    found = [(f"{f.short[0].upper()}{f.short[1:]}.", f.sentence) for f in (better, calibrated)]
    baselines = " ".join(each.sentence for each in findings.against_baselines(judged))
    return found + ([("Compared with baselines.", baselines)] if baselines else [])


def _tiles(judged: Judged, trivial: Predictive, *found: findings.Finding):
    ours = metrics.row_scores(judged.predictive, judged.y)["nll"]
    mean, error = metrics.standard_error(ours)
    yield findings.accuracy(judged, trivial)
    value, spread = mean_and_error(mean, error)
    yield "NLL per row", value, f"{spread}; lower is better" if spread else "lower is better"
    for finding in found:
        yield (*finding.measured, finding.short)
