"""The command line: ``directgp fit | evaluate | predict | decide | compare | inspect | demo``.

Each command has a file of its name, with its options and its steps. ``directgp --help`` imports
these files, so they import JAX only inside the function. Code that needs JAX at import is in other
files: `compare_models` and `decide_rows` implement their commands.

Shared parts: `application` (start and exit), `options` (declared once for all commands), `console`
(text for people, JSON for machines), `errors` (exit codes and one-line errors), `read_rows` (from a
file to arrays), `models` (model files), `training` (options, and fitting with them), `checkpoints`
(kept until all outputs are written), `outcome` (scores and report of a new model).
"""
