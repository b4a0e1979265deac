"""Linear algebra of sparse GPs, without anything about models or losses.

triangular.py      Cholesky factors, products with triangular and symmetric matrices
blocks.py          sums over rows in blocks, with memory independent of the number of rows
moments/           mean and variance of f at many rows, with hand-written derivatives
native/            machine code for the same formulas; `native/door.py` decides where it is used
blas_threads.py    BLAS with one thread
lapack.py          Cholesky factorisations that release Python's global lock
compile_cache.py   the folder of compiled programs, kept between runs
lean_imports.py    imports scikit-learn without pandas and `scipy.stats`
"""
