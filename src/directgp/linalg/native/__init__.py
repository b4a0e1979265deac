"""Machine code for the costly parts of a training step, where XLA's own is slower.

XLA multiplies the zeros of triangles and both halves of symmetric matrices, writes every
intermediate [M N] array to memory, and sums over long columns in separate loops. The code here
skips redundant halves, processes a few columns at a time in the L1 cache, and uses all threads of
XLA's pool.

A **pass** is one such program: it maps arrays to arrays in one sweep over the data
(`forward_whitened`, `kernel_rbf`, …). A **panel** is a copy of the few columns of an [M N] array
that a pass processes at a time.

* `door` is the interface for the rest of the library: `run(name, formula_in_jax, *arrays)`
  evaluates the formula by the pass of that name, or in JAX. The formula in JAX defines the
  result, its derivatives and `jax.vmap`.
* `passes` declares passes; `passes_of_triangles`, `passes_of_factors`, `passes_of_moments` and
  `passes_of_kernels` have those of `linalg/triangular.py`, `linalg/moments/` and
  `kernels/stationary_matrix.py`. They share `panels`, `gram` and `profiles`; `emit` writes LLVM IR.
* `handler` is the function that XLA calls, `xla_interface` reads the layout of its arguments.
* `library` compiles a pass with LLVM (llvmlite) for the current processor on first use, in a tenth
  of a second, and registers it with XLA; `object_code` keeps the result between runs.
* `self_test` compares one pass with NumPy before any is used.

It is used on Linux x86-64 with llvmlite, on CPUs. On other platforms, and after any failure, JAX
computes the same. The environment variable `DIRECTGP_NATIVE=off` and the context
`machine_code(False)` turn it off.
"""

from directgp.linalg.native.door import in_use, machine_code, run

__all__ = ["in_use", "machine_code", "run"]
