"""Linear algebra of sparse GPs: triangles, sums over blocks of rows, moments of f, machine code."""
