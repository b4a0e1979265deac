"""``directgp decide``: the action of least expected cost for each row, and realised costs."""

from typing import Annotated

import typer

from directgp.cli import options as o


def decide(
    model: o.Model,
    data: o.Data,
    cost: o.Cost = None,
    trust_function: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME", show_default=False,
            help="Allow the import of this function, which the cost in MODEL names.",
        ),
    ] = None,
    output: o.TableOutput = None,
    keep: o.Keep = None,
    transductive: o.Transductive = False,
    report: o.Report = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Choose the action of least expected cost for every row.

    The cost is a TOML file; for two classes it may be as short as

        kind = "binary"
        false_positive = 1
        false_negative = 20
        positive = "yes"

    Other kinds and their settings: matrix (matrix, actions, classes), reject (price and a table
    [cost]), newsvendor (under, over), square (weight), interval (width, miss), function
    (expression = "abs(y - action)", or function = "module:name" of an installed module or
    "file.py:name" of a file in the folder of the cost file; actions, or lower and upper).
    A price may be a column of DATA: false_negative = { column = "amount" }.

    The output has for each row the action, its expected cost and, if the set of actions is finite,
    the second best action and its expected cost. If DATA has the target, realised costs are
    compared with those of policies without a model, on rows that the model was not trained on.

    **Example:** `directgp decide sold.dgp houses.csv --cost cost.toml -o actions.csv`
    """
    from directgp.cli.start import begin

    terminal = begin(json, quiet, model=model, data=data)
    from directgp.cli.console import print_csv
    from directgp.cli.decide_rows import TableDecisions
    from directgp.cli.files import check_output, check_report, moved_in_after
    from directgp.report.decision import decision_report
    from directgp.tables import TableWriter

    writer = None
    inputs = (data, model) if cost is None else (data, model, cost)
    if output is not None:
        check_output(output, not_these=inputs)
        writer = TableWriter(output, mark_formulas=True)
    check_report(report, not_these=inputs, output=output)
    task = TableDecisions.read(
        model, data, cost, keep or [], terminal, trust_function, transductive
    )
    columns = task.columns()
    facts, words = task.summary()
    page = ""
    if report is not None:
        page = decision_report(task.decided, task.shown)
        facts["report"] = report
        words.append(f"Report: {report}")
    with moved_in_after(report, page):
        if writer is not None:
            with writer:
                writer.write(columns)
    if writer is not None:
        rows = len(next(iter(columns.values())))
        terminal.result(facts | {"output": output}, *words, f"{rows:,} actions: {output}")
    elif json:
        terminal.result(facts | {"decisions": columns})
    else:
        print_csv(columns)
        for word in words:
            if isinstance(word, str):  # not the table, as stdout is CSV
                terminal.info(word)
