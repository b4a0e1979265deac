"""The commands of ``python -m experiments``, one file each: list, run, results, page.

`app` is the application. `options` has shared options; `progress` shows the progress of a run. JAX
and matplotlib are imported only by commands that need them.
"""
