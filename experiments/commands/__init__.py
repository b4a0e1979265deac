"""The commands of ``python -m experiments``, one file each: list, run, results, page.

`app` puts them together. `options` has what several of them accept; `progress` shows a run while it
lasts. What imports JAX or draws is imported only by the command that needs it.
"""
