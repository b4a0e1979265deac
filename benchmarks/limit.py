"""A lower bound on the time of a sparse-GP training step: its unavoidable operations."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.problem import THREADS, Dtype
from benchmarks.timing import alternate


def limit_two_products(
    N: int, M: int, dtype: Dtype = "float64", *, rounds: int = 5, min_time: float = 0.03
) -> dict[str, float]:
    """Seconds of the two N M^2 products that every training step needs.

    These are T = B K and (K * g) K^T for K [M N], B [M M] (without the scaling by g); keys "torch",
    "numpy" and "best", the smaller of the two.
    """
    torch.set_num_threads(THREADS)
    rng = np.random.default_rng(0)
    K = rng.standard_normal((M, N)).astype(dtype)
    B = rng.standard_normal((M, M)).astype(dtype)
    T, G = np.empty_like(K), np.empty_like(B)
    K_torch, B_torch = torch.from_numpy(K), torch.from_numpy(B)
    T_torch, G_torch = torch.from_numpy(T), torch.from_numpy(G)

    def numpy_products() -> None:
        np.matmul(B, K, out=T)
        # T and not K on the left: numpy would halve the work of K K^T, a symmetric product.
        np.matmul(T, K.T, out=G)

    def torch_products() -> None:
        torch.mm(B_torch, K_torch, out=T_torch)
        torch.mm(T_torch, K_torch.T, out=G_torch)

    best = alternate({"torch": torch_products, "numpy": numpy_products}, rounds, min_time)
    return {**best, "best": min(best.values())}
