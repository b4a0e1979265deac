"""``directgp demo``: train three models on two tables and write a report."""

from pathlib import Path
from typing import Annotated

import typer

from directgp.cli import options as o


def demo(
    report: Annotated[
        Path,
        typer.Option(
            "--report", metavar="HTML", rich_help_panel="Output", help="The page to write."
        ),
    ] = Path("directgp-demo.html"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Only the generated table, smaller: less accurate.")
    ] = False,
    seed: o.Seed = 0,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Compare three training objectives on two tables, and write a report.

    Needs no data: one table is generated with noise that varies along the input, the other comes
    with scikit-learn. Takes about a minute.

    **Example:** `directgp demo --report demo.html`
    """
    from directgp.cli.start import begin

    terminal = begin(json, quiet)
    from directgp.atomic_write import write_text
    from directgp.cli.errors import UserError
    from directgp.cli.files import check_report
    from directgp.report import demo_models as demonstration
    from directgp.report.demo_report import demo_report, judged_outcomes

    if not 0 <= seed < 2**31:
        raise UserError(f"--seed must be at least 0, got {seed}")
    check_report(report)
    problems = [demonstration.generated(seed, quick)]
    if not quick:
        problems.append(demonstration.diabetes(seed))
    shown, facts, words = [], {}, []
    for problem in problems:
        outcomes = {}
        for method in demonstration.METHODS:
            terminal.info(f"{problem.name}: training with {method.name} …")
            outcomes[method.name] = demonstration.train(method, problem, seed)
        shown.append((problem, outcomes))
        words += [demonstration.score_table(problem, outcomes), demonstration.verdict(outcomes), ""]
        facts[problem.name] = {
            "verdict": demonstration.verdict(outcomes),
            "nll": {m.name: -m.predictive.log_prob(m.y).mean() for m in judged_outcomes(outcomes)},
        }
    write_text(report, demo_report(shown))
    terminal.result({"problems": facts, "report": report}, *words, f"Report: {report}")
