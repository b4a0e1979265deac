"""``directgp inspect``: what is in a model file?"""

from directgp.cli import options as o


def inspect(model: o.Model, json: o.Json = False, quiet: o.Quiet = False) -> None:
    """Show what a model file holds: what it predicts, from which inputs, how it was trained.

    **Example:** `directgp inspect houses.dgp`
    """
    from directgp.cli.start import begin

    voice = begin(json, quiet)
    from directgp.cli.console import table
    from directgp.cli.models import TableModel, class_names
    from directgp.report.numbers import percent

    loaded = TableModel.load(model)
    shares, meaning = loaded.relevance()
    named = [class_names(target) for target in loaded.targets]
    classes = named[0] if len(named) == 1 else named if any(named) else None
    facts = {
        "model": model,
        "bytes": model.stat().st_size,
        "target": loaded.name,
        "targets": [target.name for target in loaded.targets],
        "task": loaded.targets[0].task,
        "classes": classes,
        "inputs": list(loaded.encoder.names),
        "columns": {note.column: note.text for note in loaded.encoder.report},
        "relevance": shares,
        "beta": getattr(loaded.fitted, "beta", None),
        "seconds": loaded.fitted.seconds,
        "options": loaded.facts,
        "directgp": loaded.summary.get("directgp"),
    }
    described = [(name, value) for name, value in loaded.described().items()]
    described.append(
        ("file", f"{model.stat().st_size / 1024:,.0f} KiB, directgp {facts['directgp']}")
    )
    for target, labels in zip(loaded.targets, named, strict=True):
        if labels:
            title = "classes" if len(named) == 1 else f"classes of {target.name}"
            described.append((title, ", ".join(labels)))
    columns = [(note.column, note.text) for note in loaded.encoder.report]
    words = [
        table(str(model), ("", ""), described, wordy=(1,)),
        table("Columns", ("column", "became"), columns, wordy=(1,)),
    ]
    if len(shares) > 1:
        top = [(name, percent(share)) for name, share in list(shares.items())[:15]]
        words.append(table("Relevance", ("input", "share"), top))
        words.append(meaning)
    voice.result(facts, *words)
