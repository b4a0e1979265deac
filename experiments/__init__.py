"""Reproduction of the tables and figures of the papers: specs, a runner and a store of results.

    python -m experiments list | run | results | page

    commands      the commands, one file each

    spec          a figure as data: datasets, methods, what varies, what the paper claims
    job           one run: a plain record and its key
    kinds         kinds of jobs: `fit` a method, its learning curve, a simulation, …
    method        from a record to a call of `directgp.fit`
    datasets      named tables and their splits
    scheduler     where jobs run: in this process, in several, on a Dask cluster
    runner        runs the jobs that are missing in the store
    store         finished runs in one SQLite file
    transfer      export and import of runs: .csv, .jsonl, .parquet
    figure_rows   the runs of the store as rows of a figure
    judges        checks of the paper's claims against the rows
    figures       the plots
    page, gallery docs/reproduction.md and an HTML page, from the store alone

The folder `specs` has the papers' figures, `results` the stored runs of docs/reproduction.md. This
package is not installed with directgp, and directgp does not import it. Run it from the root of the
repository. Modules that only plan or read do not import JAX.
"""
