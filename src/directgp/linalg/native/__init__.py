"""Machine code for what a training step spends its time on, where XLA's own is slower.

XLA multiplies the zeros of triangles and both halves of symmetric matrices, writes every [M N]
array on the way to memory, and sums over long columns in loops of their own. The code here leaves
out what is known, keeps a few columns in the nearest cache while they are worked on, and uses every
thread of XLA's pool.

Two words recur. A **pass** is one such program: it takes some arrays, gives some arrays, and goes
over the data once (`forward_whitened`, `kernel_rbf`, …). A **panel** is the few columns of an
[M N] array that a pass works on at a time, copied so that they stay in cache.

* `door` is what the rest of the library calls: `run(name, formula_in_jax, *arrays)` computes the
  formula by the pass of that name, or in JAX. The formula in JAX is what is meant; derivatives and
  `jax.vmap` are taken from it.
* `passes` says what a pass is; `passes_of_triangles`, `passes_of_moments` and `passes_of_kernels`
  have those of `linalg/triangular.py`, `linalg/moments/` and `kernels/stationary_matrix.py`.
  `panels`, `gram` and `profiles` are what they share, and `emit` writes LLVM's language.
* `handler` is the function that XLA calls, `xla_interface` where it finds its arguments.
* `library` has LLVM (llvmlite) make machine code for the processor at hand when a pass is first
  needed, in a tenth of a second, and registers it with XLA.
* `self_test` is the computation that must come out right before any other is done this way.

It is used on Linux x86-64 with llvmlite, on CPUs. Anywhere else, and wherever something does not
work, JAX computes the same. The environment variable `DIRECTGP_NATIVE=off` and the context
`machine_code(False)` turn it off.
"""

from directgp.linalg.native.door import in_use, machine_code, run

__all__ = ["in_use", "machine_code", "run"]
