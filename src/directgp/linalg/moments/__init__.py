"""The few M×M identities behind sparse Gaussian processes, with hand-written derivatives.

Ways to get the moments of q(f) at a batch from K = k(Z, X) and a whitened posterior
q(v) = N(m, S Sᵀ), u = L v, L Lᵀ = K_uu (`math.md` section 3, C = S Sᵀ − I):

* **projected**: B = L⁻ᵀ C L⁻¹ and α = L⁻ᵀ m once, then μ = αᵀK and v = k(x,x) + Σ K∘(BK):
  two N·M² products per step, forward and backward together. Entries of B reach 1/jitter, so
  this form is for float64.
* **whitened**: A = L⁻¹K, then μ = mᵀA and v = k(x,x) + Σ A∘(CA): four N·M² products, but no
  large numbers, so those products may be done in float32.
* **lifted**: A = L⁻¹K and P = L⁻ᵀC A, then μ = mᵀA and v = k(x,x) + Σ K∘P: three N·M² products,
  because P serves the backward pass too, K̄ = 2 P∘v̄ + L⁻ᵀm μ̄ᵀ. The numbers are large as the root
  of B's; in float32 that is enough where there is some noise, not where there is next to none.
* **rotated**: F = QᵀL⁻¹K with C = Q diag(d) Qᵀ, μ = (Qᵀm)ᵀF and v = k(x,x) + Σ d∘F²: one product,
  no large numbers, for fast prediction (no derivative of its own).

All but the last share one backward pass through the Cholesky factor: with G the cotangent of C and
m̄ the cotangent of m, X = 2 C G + m m̄ᵀ and K̄_uu = −sym(L⁻ᵀ Φ(X) L⁻¹), where Φ keeps the lower
triangle with half the diagonal; sym is left to whoever has the derivative of K_uu. P latent
functions share Z and K (leading axis P).

Each form is the file of its name: a factorisation of K_uu and the moments of a batch, each with the
derivative of its own formula. `lifted` is built on `whitened`; `shared` has what several forms use.
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
"""Every form: how to factor K_uu once, and how to get the moments of a batch from that."""
