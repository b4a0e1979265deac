"""``directgp inspect``: show the metadata of a model file."""

from directgp.cli import options as o


def inspect(model: o.Model, json: o.Json = False, quiet: o.Quiet = False) -> None:
    """Show the content of a model file: its target, its inputs, and how it was trained.

    **Example:** `directgp inspect houses.dgp`
    """
    from directgp.cli.console import Terminal, table
    from directgp.cli.start import begin, check_given
    from directgp.persistence.inspection import read_inspection

    terminal = Terminal(as_json=json, quiet=quiet)
    check_given(model=model)
    found = read_inspection(model)
    if found is None:  # the file has no stored inspection: load the model
        begin(json, quiet)
        from directgp.cli.models import TableModel

        found = TableModel.load(model).inspection()
    named = [names or None for names in found.classes]
    facts = {
        "model": model,
        "bytes": model.stat().st_size,
        "target": ", ".join(found.targets),
        "targets": found.targets,
        "task": found.task,
        "classes": named[0] if len(named) == 1 else named if any(named) else None,
        "inputs": found.inputs,
        "columns": dict(found.columns),
        "relevance": found.relevance,
        "beta": found.beta,
        "seconds": found.seconds,
        "options": found.options,
        "directgp": found.version,
    }
    described = list(found.described.items())
    described.append(("file", f"{facts['bytes'] / 1024:,.0f} KiB, directgp {found.version}"))
    for target, labels in zip(found.targets, named, strict=True):
        if labels:
            title = "classes" if len(named) == 1 else f"classes of {target}"
            described.append((title, ", ".join(labels)))
    words = [
        table(str(model), ("", ""), described, wordy=(1,)),
        table("Columns", ("column", "encoded as"), found.columns, wordy=(1,)),
    ]
    if len(found.relevance) > 1:
        top = [(name, f"{100 * share:.1f} %") for name, share in list(found.relevance.items())[:15]]
        words.append(table("Steepness", ("column", "share"), top))
        if len(found.relevance) > len(top):
            words.append(f"{len(found.relevance) - len(top)} less relevant columns are not shown.")
        words.append(found.relevance_means)
    terminal.result(facts, *words)
