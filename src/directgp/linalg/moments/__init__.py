"""Moments of q(f) at a batch of rows, with hand-written derivatives.

They are computed from K = k(Z, X) and a whitened posterior q(v) = N(m, S Sᵀ), u = L v, L Lᵀ = K_uu,
in
one of four forms (`math.md` section 3, C = S Sᵀ − I):

* **projected**: B = L⁻ᵀ C L⁻¹ and α = L⁻ᵀ m once, then μ = αᵀK and v = k(x,x) + Σ K∘(BK):
  two N·M² products per step, forward and backward. Entries of B can be as large as 1/jitter, so
  this form is for float64.
* **whitened**: A = L⁻¹K, then μ = mᵀA and v = k(x,x) + Σ A∘(CA): four N·M² products without
  large numbers, so they may be computed in float32.
* **lifted**: A = L⁻¹K and P = L⁻ᵀC A, then μ = mᵀA and v = k(x,x) + Σ K∘P: three N·M² products,
  because P is also needed in the backward pass, K̄ = 2 P∘v̄ + L⁻ᵀm μ̄ᵀ. Its entries are of the order
  of the root of those of B, which float32 can represent well enough unless the noise is very small.
* **rotated**: F = QᵀL⁻¹K with C = Q diag(d) Qᵀ, μ = (Qᵀm)ᵀF and v = k(x,x) + Σ d∘F²: one product,
  without large numbers, for fast prediction (without a hand-written derivative).

All but the last share the backward pass through the Cholesky factor: with G the cotangent of C and
m̄ the cotangent of m, X = 2 C G + m m̄ᵀ and K̄_uu = −sym(L⁻ᵀ Φ(X) L⁻¹), where Φ keeps the lower
triangle with half the diagonal. The derivative of K_uu is symmetric, so sym is left out. P latent
functions share Z and K (leading axis P).

Each form is one file with a factorisation of K_uu and the moments of a batch, and the derivatives
of both. `lifted` is based on `whitened`; `shared` has the common functions.
"""

from directgp.linalg.moments.lifted import lift, lifted_moments
from directgp.linalg.moments.projected import project, projected_moments
from directgp.linalg.moments.rotated import rotate, rotated_moments
from directgp.linalg.moments.whitened import whiten, whitened_moments

__all__ = ["MOMENTS"]

MOMENTS = {
    "projected": (project, projected_moments),
    "whitened": (whiten, whitened_moments),
    "lifted": (lift, lifted_moments),
    "rotated": (rotate, rotated_moments),
}
"""By form: the function that factors K_uu, and the function for the moments of a batch."""
