"""The command line: ``directgp fit | evaluate | predict | decide | compare | inspect | demo``.

Each command has a file of its name with its options and its steps. `app` puts them together and is
all that ``directgp --help`` imports, so these files import JAX only when a command runs; what needs
it at import is in other files: `compare_models` and `decide_rows` do the work of their commands.

Shared parts: `application` (how it starts and ends), `options` (declared once for all commands),
`console` (output for people and machines), `errors` (exit codes and one-line errors), `read_rows`
(from a file to arrays), `models` (from a fit to a file and back), `training` (options, and a fit by
them), `checkpoints` (what was trained is kept until all is written), `outcome` (scores and report
of a new model), `cache` (compiled programs kept between commands).
"""
