"""``directgp calibrate``: conformal calibration of a model on held-out rows."""

from pathlib import Path
from typing import Annotated

import typer

from directgp.cli import options as o


def calibrate(
    model: o.Model,
    data: o.Data,
    output: Annotated[
        Path, o.output_option("MODEL", "The calibrated model; may be MODEL itself.")
    ],
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", show_default=False,
            help="A column of DATA: the guarantee then holds within each of its values.",
        ),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Calibrate a model on rows that it was not trained on (split conformal prediction).

    predict then gives an interval (classes: a set) for each row that contains the true value with
    at least the requested probability, whatever the model, if new rows are exchangeable with these.
    decide uses the recalibrated distribution. Rows that the model was trained on are recognised
    and left out.

    **Example:** `directgp calibrate houses.dgp fresh.csv -o houses.dgp --group kind`
    """
    from directgp.cli.start import begin

    terminal = begin(json, quiet, model=model, data=data)
    from dataclasses import replace

    from directgp.calibration import Calibration
    from directgp.cli.calibrated_columns import USUAL, groups_of
    from directgp.cli.errors import UserError
    from directgp.cli.files import check_output
    from directgp.cli.models import TableModel
    from directgp.cli.read_rows import read_known

    check_output(output, not_these=(data,))
    loaded = TableModel.load(model)
    target = loaded.target.name
    rows = read_known(data, loaded.encoder, loaded.targets, terminal)
    fresh, warning, seen = loaded.unseen(rows, "calibration")
    if seen:
        raise UserError(
            "all these rows are training rows, whose errors are too small for calibration; give "
            "other rows, or fit with --holdout 0.3"
        )
    if warning:
        terminal.warn(warning)
    elif not fresh.all():
        terminal.info(
            f"{(~fresh).sum():,} of {len(rows):,} rows are training rows and are left out."
        )
    rows = rows.take(fresh)
    predicted = loaded.predict(rows.X)[0]
    made = Calibration.of(predicted, rows.y, groups_of(rows.table, group), group)
    replace(loaded, calibration=made).save(output)
    advice = made.advice(USUAL)
    if advice:
        terminal.warn(advice)
    groups = f" in {len(made.groups)} groups by {group}" if made.by_group else ""
    facts = {"model": output, "target": target, "rows": len(rows), "group": group}
    terminal.result(
        facts | {"groups": made.rows if made.by_group else None},
        f"Calibrated on {len(rows):,} rows{groups}.",
        f"Model: {output}",
    )
