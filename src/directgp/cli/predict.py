"""``directgp predict``: predictive distributions of new rows as a table."""

from typing import Annotated, Any

import typer

from directgp.cli import options as o


def predict(
    model: o.Model,
    data: o.Data,
    output: o.TableOutput = None,
    quantiles: Annotated[
        str,
        typer.Option(metavar="LEVELS", help="Levels of the quantiles, for numbers and counts."),
    ] = "0.05,0.5,0.95",
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", show_default=False,
            help="Coverage of the intervals or sets of a calibrated model. Default: 0.9.",
        ),
    ] = None,
    keep: o.Keep = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Predict new rows: mean, standard deviation and quantiles, or a probability for each class.

    DATA needs the input columns of training, in any order; the target may be absent. The order of
    rows is kept. With several targets, the names of columns start with that of the target. A
    calibrated model (directgp calibrate) also gives an interval, lower to upper, or a set of
    classes, with guaranteed coverage.

    **Example:** `directgp predict houses.dgp new.csv -o prices.csv --keep id`
    """
    from directgp.cli.start import begin

    terminal = begin(json, quiet, model=model, data=data)
    from directgp.cli.calibrated_columns import calibrated_columns, check_asked, warn_of_few_rows
    from directgp.cli.console import print_csv
    from directgp.cli.files import check_output
    from directgp.cli.models import TableModel
    from directgp.cli.quantiles import levels_of
    from directgp.cli.streaming import is_streamed
    from directgp.fitting.predict_stream import predict_stream
    from directgp.tables import TableWriter, read_table
    from directgp.tables.arrow_values import python_values
    from directgp.tables.parquet_source import ParquetSource
    from directgp.tables.prediction_columns import (
        beside_kept,
        check_kept,
        columns_of_targets,
        in_pieces,
    )

    levels = levels_of(quantiles)
    writer = None
    if output is not None:
        check_output(output, not_these=(data, model))
        writer = TableWriter(output, mark_formulas=True)
    loaded = TableModel.load(model)
    check_asked(loaded, coverage)
    if output is not None and is_streamed(data, None):
        if coverage is not None or loaded.calibration is not None:
            terminal.warn("calibrated intervals are left out for a table that is read in pieces")
        with terminal.steps("predicting", ParquetSource(data).num_rows) as advance:
            count = predict_stream(
                loaded.fitted, loaded.encoder, data, output, keep=keep or [],
                columns=lambda predicted, _: columns_of_targets(predicted, loaded.targets, levels),
                tell=lambda note: terminal.info(f"Column {note}."), advance=advance,
            )  # fmt: skip
        terminal.result({"rows": count, "output": output}, f"{count:,} predictions: {output}")
        return
    table = read_table(data)
    check_kept(keep or [], table.column_names)
    encoded = loaded.encoder.encode(table)
    for note in encoded.notes:
        terminal.info(f"Column {note}.")
    warn_of_few_rows(loaded, coverage, terminal)

    def columns_of(rows: slice) -> dict[str, Any]:
        found = loaded.fitted.predict(encoded.X[rows])
        own = table.slice(rows.start, len(encoded.X[rows]))
        return {
            **columns_of_targets(found, loaded.targets, levels),
            **calibrated_columns(loaded, found, own, coverage),
        }

    with terminal.steps("predicting", table.num_rows) as advance:
        predicted = in_pieces(columns_of, table.num_rows, advance)
    columns = beside_kept({name: python_values(table[name]) for name in keep or []}, predicted)
    facts = {"rows": table.num_rows, "columns": list(columns)}
    if writer is not None:
        with writer:
            writer.write(columns)
        terminal.result(facts | {"output": output}, f"{table.num_rows:,} predictions: {output}")
    elif json:
        terminal.result(facts | {"predictions": columns})
    else:
        print_csv(columns)
