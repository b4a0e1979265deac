"""Every table and figure of the papers by one command: experiments as data, one runner, one store.

    python -m experiments list | run | results | page

    commands      the commands, one file each

    spec          a figure as data: datasets, methods, what varies, what the paper claims
    job           one run: a plain record and the key that names it
    kinds         what a job can be: `fit` a method, follow its learning curve, a simulation, …
    method        from a record to a call of `directgp.fit`
    datasets      named tables and the ways they are split
    scheduler     where jobs run: here, in processes of this machine, on a Dask cluster
    runner        does what the store lacks
    store         finished runs in one SQLite file
    transfer      runs out of the store and into another: .csv, .jsonl, .parquet
    figure_rows   the store's runs as rows of a figure
    judges        whether the rows bear the paper's claim out
    figures       the pictures
    page, gallery docs/reproduction.md and an HTML page, from the store alone

The folder `specs` holds the papers' figures, `results` the stored runs behind docs/reproduction.md.
This package uses the library and is not part of it: it is not installed with directgp, and nothing
in directgp imports it. Run it from the root of the repository. What only plans or reads does not
import JAX.
"""
