"""``directgp predict``: predictive distributions of new rows as a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from directgp.cli import options as o


def predict(
    model: o.Model,
    data: o.Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "--out", "-o", metavar="TABLE", rich_help_panel="Output",
            show_default=False,
            help="A CSV or Parquet file. Default: CSV on stdout.",
        ),
    ] = None,
    quantiles: Annotated[
        str,
        typer.Option(metavar="LEVELS", help="Quantiles to give, for numbers and counts."),
    ] = "0.05,0.5,0.95",
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", show_default=False,
            help="Of a calibrated model: the share of rows inside lower to upper, or whose class "
            "is in its set. Default: 0.9.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="COLUMN", show_default=False,
            help="A column of DATA to repeat in the output; may be given several times.",
        ),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Predict new rows: mean, standard deviation and quantiles, or a probability for each class.

    DATA needs the input columns of training, in any order; the target may be absent. Rows come
    back in the order they were given. A model of several targets gives columns that start with the
    name of each. A calibrated model (directgp calibrate) also gives an interval, lower to upper, or
    a set of classes, with a guarantee.

    **Example:** `directgp predict houses.dgp new.csv -o prices.csv --keep id`
    """
    from directgp.cli.start import begin

    voice = begin(json, quiet, model=model, data=data)
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
            voice.warn("of a table read in pieces the calibrated intervals are left out")
        with voice.steps("predicting", ParquetSource(data).num_rows) as advance:
            count = predict_stream(
                loaded.fitted, loaded.encoder, data, output, keep=keep or [],
                columns=lambda predicted, _: columns_of_targets(predicted, loaded.targets, levels),
                tell=lambda note: voice.say(f"Column {note}."), advance=advance,
            )  # fmt: skip
        voice.result({"rows": count, "output": output}, f"{count:,} predictions: {output}")
        return
    table = read_table(data)
    check_kept(keep or [], table.column_names)
    encoded = loaded.encoder.encode(table)
    for note in encoded.notes:
        voice.say(f"Column {note}.")
    warn_of_few_rows(loaded, coverage, voice)

    def columns_of(rows: slice) -> dict[str, Any]:
        found = loaded.fitted.predict(encoded.X[rows])
        own = table.slice(rows.start, len(encoded.X[rows]))
        return {
            **columns_of_targets(found, loaded.targets, levels),
            **calibrated_columns(loaded, found, own, coverage),
        }

    with voice.steps("predicting", table.num_rows) as advance:
        predicted = in_pieces(columns_of, table.num_rows, advance)
    columns = beside_kept({name: python_values(table[name]) for name in keep or []}, predicted)
    facts = {"rows": table.num_rows, "columns": list(columns)}
    if writer is not None:
        with writer:
            writer.write(columns)
        voice.result(facts | {"output": output}, f"{table.num_rows:,} predictions: {output}")
    elif json:
        voice.result(facts | {"predictions": columns})
    else:
        print_csv(columns)
