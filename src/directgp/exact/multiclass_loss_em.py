"""Loss-EM for several classes: softmax of K latent functions, any K × A matrix of prices.

The same algorithm as `linearised_loss_em` with a Laplace E-step; class probabilities under q are
averages over quasi-random draws of the K latent values of a row.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from directgp.exact.alternation import alternate
from directgp.exact.finite import Features
from directgp.exact.laplace import laplace
from directgp.exact.posterior import Posterior
from directgp.exact.target import Derivatives, LogDensity
from directgp.exact.utility import check_bound


class ClassUtility(eqx.Module):
    """log(1 − L/M) with L(v, h) = (1/S) Σ_s Σ_k C[k, h_s] p(k | x_s, v)."""

    features: Features
    prices: Float[Array, "S K"]
    bound: Float[Array, ""]


class ClassTarget(LogDensity):
    """N(v; 0, I) Π_i softmax(f(x_i))_{y_i}, perhaps times a utility; v holds K·M numbers.

    `points` [J K] are standard normal draws for the residual variance that v leaves.
    """

    features: Features
    y: Int[Array, "N"]
    points: Float[Array, "J K"]
    utility: ClassUtility | None = None

    @property
    def log_concave(self) -> bool:
        # An average of softmaxes over points of the residual need not be log-concave.
        return False

    @property
    def size(self) -> int:
        return self.points.shape[1] * self.features.values.shape[1]

    @property
    def dtype(self) -> Any:
        return self.features.values.dtype

    @property
    def certain(self) -> "ClassTarget":
        """Prior and likelihood without residual variance, for which one point suffices."""
        sure = Features(self.features.values, jnp.zeros_like(self.features.residual))
        return ClassTarget(sure, self.y, jnp.zeros_like(self.points[:1]))

    def value(self, v: Float[Array, "B"]) -> Float[Array, ""]:
        log_p = self.log_probabilities(v, self.features)
        fit = jnp.sum(jnp.take_along_axis(log_p, self.y[:, None], axis=1))
        gain = 0.0
        if self.utility is not None:
            p = jnp.exp(self.log_probabilities(v, self.utility.features))
            risk = jnp.mean(jnp.sum(p * self.utility.prices, axis=1))
            gain = jnp.log1p(-risk / self.utility.bound)
        return 0.5 * v @ v - fit - gain

    def derivatives(self, v: Float[Array, "B"]) -> Derivatives:
        value, gradient = jax.value_and_grad(self.value)(v)
        # A column at a time, not jax.hessian: XLA's thread pool on the CPU can lock up on loops
        # that hold the batched products of vmap.
        columns = lax.map(
            lambda e: jax.jvp(jax.grad(self.value), (v,), (e,))[1],
            jnp.eye(self.size, dtype=v.dtype),
        )
        return Derivatives(value, gradient, columns)

    def log_probabilities(self, v: Float[Array, "B"], rows: Features) -> Float[Array, "R K"]:
        """Log p(k | x, v), averaged over the residual variance of a row.

        Args:
            v: the vector.
            rows: features of the rows.
        """
        f = rows.values @ v.reshape(self.points.shape[1], -1).T
        noise = jnp.sqrt(rows.residual)[:, None] * self.points[:, None]
        each = jax.nn.log_softmax(f + noise, axis=-1)
        return jax.nn.logsumexp(each, axis=0) - jnp.log(self.points.shape[0])


class CalibratedClasses(NamedTuple):
    """Actions at the test rows, class probabilities under q, q and the number of rounds.

    `converged`: whether no action changed in the last round and its q converged.
    """

    actions: Int[Array, "S"]
    probabilities: Float[Array, "S K"]
    posterior: Posterior
    rounds: Float[Array, ""]
    converged: Bool[Array, ""]


def multiclass_loss_em(
    train: Features,
    y: Int[Array, "N"],
    test: Features,
    prices: Float[Array, "K A"],
    bound: Float[Array, ""],
    points: Float[Array, "J K"],
    *,
    max_rounds: int = 20,
) -> CalibratedClasses:
    """Loss-EM with K classes and A actions; `bound` ∞ gives the plain Laplace approximation.

    Args:
        train: features of the training rows.
        y: their classes.
        test: features of the test rows.
        prices: C[k, a], the cost of action a for class k.
        bound: M of `lossem` eq. (7), at least the largest price.
        points: standard normal draws for averages over the latent functions.
        max_rounds: the maximum number of EM rounds.
    """
    check_bound(bound, prices=prices)
    plain_target = ClassTarget(train, y, points)

    def approximate(actions: Array, posterior: Posterior) -> Posterior:
        utility = ClassUtility(test, prices.T[actions], bound)
        return laplace(ClassTarget(train, y, points, utility), posterior.mean, tolerance=1e-7)

    def act(posterior: Posterior) -> Array:
        return jnp.argmin(class_probabilities(posterior, test, points) @ prices, axis=1)

    plain = laplace(plain_target, tolerance=1e-7)
    dtype = plain.mean.dtype
    found = alternate(approximate, lambda q, _: act(q), plain, act(plain), max_rounds, dtype)
    probabilities = class_probabilities(found.latest, test, points)
    settled = found.settled & found.latest.converged
    return CalibratedClasses(found.actions, probabilities, found.latest, found.rounds, settled)


def class_probabilities(
    posterior: Posterior, rows: Features, points: Float[Array, "J K"]
) -> Float[Array, "R K"]:
    """E_q[softmax(f)] at rows, whose K latent values are correlated under q.

    Args:
        posterior: q.
        rows: features of the rows.
        points: standard normal draws.
    """
    num_classes = points.shape[1]
    size = rows.values.shape[1]
    blocks = posterior.covariance.reshape(num_classes, size, num_classes, size)
    means = rows.values @ posterior.mean.reshape(num_classes, size).T
    spread = jnp.einsum("rm,kmln,rn->rkl", rows.values, blocks, rows.values)
    eye = jnp.eye(num_classes, dtype=means.dtype)
    # Relative jitter: the latent functions may be almost certain at a row.
    jitter = 1e-12 * (1.0 + jnp.trace(spread, axis1=1, axis2=2))
    factor = jnp.linalg.cholesky(spread + (rows.residual + jitter)[:, None, None] * eye)
    f = means + jnp.einsum("rkl,jl->jrk", factor, points)
    return jnp.mean(jax.nn.softmax(f, axis=-1), axis=0)
