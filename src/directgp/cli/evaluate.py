"""``directgp evaluate``: scores and a report of a model on rows with known targets."""

from directgp.cli import options as o


def evaluate(
    model: o.Model,
    data: o.Data,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Evaluate a model on rows whose target is known, and write a report.

    Rows that the model was trained on are recognised and left out, so the training table may be
    given: the model is then evaluated on the rows that fit held out.

    **Example:** `directgp evaluate houses.dgp houses.csv --report report.html`
    """
    from directgp.cli.start import begin

    terminal = begin(json, quiet, model=model, data=data)
    from directgp.atomic_write import write_text
    from directgp.cli.files import check_report
    from directgp.cli.models import TableModel
    from directgp.cli.read_rows import read_known
    from directgp.cli.scores import scored_targets
    from directgp.cli.unseen_rows import report_unseen
    from directgp.fitting.fitted import FittedGP
    from directgp.report import report_of_targets

    check_report(report, not_these=(model, data))
    loaded = TableModel.load(model)
    rows = read_known(data, loaded.encoder, loaded.targets, terminal)
    fresh, warning, seen = found = loaded.unseen(rows, "scores")
    name = report_unseen(found, len(rows), "scores", data.name, terminal)
    if not fresh.all():
        rows = rows.take(fresh)
    # Steps: each column that is shuffled for its importance, the scores, and the report.
    shuffled = 0 if isinstance(loaded.fitted, FittedGP) else len(loaded.encoder.sources)
    steps = shuffled + 1 + (report is not None)
    with terminal.steps("evaluating", steps) as advance:
        judged = loaded.judged_targets(rows, model.stem, name, warning, advance)
        facts, words = scored_targets(judged, loaded.joint_scores(rows))
        advance()
        page = "" if report is None else report_of_targets(judged)
    facts = {"model": model, "target": loaded.name, "seen_in_training": seen} | facts
    if report is not None:
        write_text(report, page)
        facts["report"] = report
        words.append(f"Report: {report}")
    terminal.result(facts, *words)
