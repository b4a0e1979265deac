"""Linear algebra of sparse GPs, without anything about models or losses.

triangular.py      Cholesky factors, products with triangular and symmetric matrices
blocks.py          sums over rows in blocks, so that memory does not grow with the rows
moments/           mean and variance of f at many rows, with their derivatives by hand
native/            machine code for the same formulas, behind `native/door.py`
blas_threads.py    BLAS with one thread
lapack.py          Cholesky factors while other threads work
compile_cache.py   compiled programs that are kept between runs
lean_imports.py    scikit-learn without the large packages that it loads and hardly uses
"""
