"""The command line: ``directgp fit | predict | evaluate | compare | inspect | demo``.

One file a command. `app` puts them together and is all that ``directgp --help`` imports; the
commands import JAX only when they run. Shared parts: `options` (what can be said), `console` (what
is said, where), `errors` (how it ends), `rows` (from a file to arrays), `models` (from a fit to a
file and back), `training` (fits that can be interrupted), `cache` (compiled programs kept).
"""
