"""``directgp evaluate``: how good is a model on rows whose truth is known?"""

from directgp.cli import options as o


def evaluate(
    model: o.Model,
    data: o.Data,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Judge a model on rows whose target is known, and write a report.

    Rows that the model was trained on are recognised and left out, so the training table itself
    may be given: the rows that fit kept aside are judged.

    **Example:** `directgp evaluate houses.dgp houses.csv --report report.html`
    """
    from directgp.cli.start import begin

    voice = begin(json, quiet, model=model, data=data)
    from directgp.atomic_write import write_text
    from directgp.cli.files import check_report
    from directgp.cli.models import TableModel
    from directgp.cli.read_rows import read_known
    from directgp.cli.scores import scored_targets
    from directgp.report import report_of_targets

    check_report(report, not_these=(model, data))
    loaded = TableModel.load(model)
    rows = read_known(data, loaded.encoder, loaded.targets, voice)
    name = data.name
    fresh, warning, seen = loaded.unseen(rows, "scores")
    if warning:
        voice.warn(warning)
    elif not fresh.all():
        voice.say(
            f"{len(rows) - fresh.sum():,} of {len(rows):,} rows were trained on "
            f"and are left out; judged are the other {fresh.sum():,}."
        )
        name = f"{data.name}, rows it was not trained on"
        rows = rows.take(fresh)
    judged = loaded.judged_targets(rows, model.stem, name, warning)
    facts, words = scored_targets(judged)
    facts = {"model": model, "target": loaded.name, "seen_in_training": seen} | facts
    if report is not None:
        write_text(report, report_of_targets(judged))
        facts["report"] = report
        words.append(f"Report: {report}")
    voice.result(facts, *words)
