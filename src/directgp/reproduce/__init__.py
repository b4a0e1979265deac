"""Every table and figure of the papers by one command: experiments as data, one runner, one store.

    spec          a figure as data: datasets, methods, what varies, what the paper claims
    job           one run: a plain record and the key that names it
    kinds         what a job can be: `fit` a method, follow its learning curve, a simulation, …
    method        from a record to a call of `directgp.fit`
    datasets      named tables and the ways they are split
    scheduler     where jobs run: here, in processes of this machine, on a Dask cluster
    runner        does what the store lacks
    store         finished runs in one SQLite file
    results       the store's runs as rows of a figure
    judges        whether the rows bear the paper's claim out
    figures       the pictures
    page, gallery docs/reproduction.md and an HTML page, from the store alone

Nothing here is imported by the rest of the library except by the command line, and nothing that
only plans or reads imports JAX.
"""
