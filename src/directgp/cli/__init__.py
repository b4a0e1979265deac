"""The command line: ``directgp fit | evaluate | predict | decide | compare | inspect | demo``.

One file a command. `app` puts them together and is all that ``directgp --help`` imports; the
commands import JAX only when they run. Shared parts: `application` (how it starts and ends),
`options` (what can be said), `console` (what is said, where), `errors` (exit codes and one-line
errors), `read_rows` (from a file to arrays), `models` (from a fit to a file and back), `training`
(options, and a fit by them), `checkpoints` (what was trained is kept until all is written),
`outcome` (what a new model is worth), `cache` (compiled programs kept). The work of a command that
is more than a page is beside it: `comparing`, `deciding`.
"""
