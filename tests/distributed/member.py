"""A member of a team in a process of its own; what it was asked to do is in JSON."""

import json
import os
import signal
import sys
from pathlib import Path

import jax
import numpy as np

import directgp as dg
from directgp.fitting.flat_options import specs_from_options


def numbers(fitted):
    """All that was learned and all that was seen of it, by name."""
    learned = [leaf for leaf in jax.tree.leaves(fitted.gp) if isinstance(leaf, jax.Array)]
    found = {f"learned {number}": np.asarray(leaf) for number, leaf in enumerate(learned)}
    found |= {"input scales": np.stack(fitted.inputs), "target scales": np.stack(fitted.targets)}
    found |= {name: np.asarray(values) for name, values in fitted.history.items()}
    return found | {"held out": fitted.held_out, "beta": np.asarray(fitted.beta)}


def _dies_after_first_chunk():
    import directgp.training.resumable as stages

    original = stages.run

    def run(*arguments, after_chunk, **options):
        return original(
            *arguments, after_chunk=lambda _: os.kill(os.getpid(), signal.SIGKILL), **options
        )

    stages.run = run


def main():
    asked = json.loads(sys.argv[1])
    if asked.get("dies"):
        _dies_after_first_chunk()
    team = dg.connect(asked["coordinator"], asked["size"], asked["index"], timeout=120)
    found = {}
    for number, fit in enumerate(asked["fits"]):
        fitted = dg.fit_stream(team=team, **specs_from_options(fit)).fitted
        found |= {f"{number} {name}": value for name, value in numbers(fitted).items()}
    np.savez(Path(asked["folder"]) / f"{asked['index']}.npz", **found)


if __name__ == "__main__":
    try:
        main()
    except (dg.TeamError, dg.TableError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
