"""The predictive variance of any model trained by square loss, which determines the mean only.

The mean of every model is affine in the whitened means m of its last layer, ŷ_i = J_iᵀm + b_i,
given all other parameters. Square loss with a divergence of curvature βH in m is then a linear
smoother, with

    P = H + Σ_i J_i J_iᵀ/β,   leverage h_i = J_iᵀP⁻¹J_i/β,   left-out error (y_i − ŷ_i)/(1 − h_i)

and P⁻¹ as the posterior covariance of the last layer. Its scale c and the noise σ² (one for each
output) minimise the leave-one-out log loss of training rows and the log loss of held-out rows. For
one sparse GP see `calibration`; here the trained mean is kept. Leverages do not account for
overfitting of the layers below: if held-out errors are significantly larger, only held-out rows are
used.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Int

from directgp.collapsed.calibration import CalibratedScale
from directgp.divergences.base import WhitenedGaussian
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.gaussian import Gaussian
from directgp.likelihoods.gaussian_outputs import GaussianOutputs
from directgp.linalg.blocks import rows_a_block, to_blocks
from directgp.models.base import Model
from directgp.objective import Batch, Objective
from directgp.parameters import float64, positive, random_key, unwrap

_ENOUGH_ROWS = 20
"""Held-out rows needed to test whether leave-one-out errors are too small."""
_MOST_ROWS = 4000
_LEAST_BETA = 1e-6
_LEAST_NOISE = 2e-6
_LEAST_SCALE = 1e-10
_SCALES = np.logspace(-6.0, 4.0, 61)
_NOISES = np.logspace(-6.0, 2.0, 65)


class Errors(NamedTuple):
    """Errors and variances of predictions at rows that were left out or held out."""

    error: Float[np.ndarray, "N"]
    within: Float[np.ndarray, "N"]
    """Variance of f within the components, which is multiplied by c."""
    between: Float[np.ndarray, "N"]
    """Variance between the means of the components, which does not depend on c."""
    output: Int[np.ndarray, "N"]
    weight: Float[np.ndarray, "N"]


@float64
def with_variance(
    model: Model,
    likelihood: Gaussian | GaussianOutputs,
    objective: Objective,
    data: Batch,
    held_out: Batch | None,
    beta: float,
) -> tuple[Model, Likelihood]:
    """The model with the same mean, and the scale and noise that minimise the left-out log loss.

    Args:
        model: trained by square loss.
        likelihood: its noise is replaced.
        objective: the training objective.
        data: the training rows.
        held_out: the rows that chose the parameters, if any.
        beta: the weight of the divergence.
    """
    beta = max(beta, _LEAST_BETA)
    covariance = _covariance(model, objective, data, jnp.asarray(beta, jnp.float64))
    model = _with_covariance(model, covariance)
    errors = _errors(model, covariance, _some_rows(data), beta)
    if held_out is not None:
        errors = _joined(errors, _errors(model, None, _some_rows(held_out), beta))
    outputs = np.size(unwrap(likelihood.noise))
    scale, noise = best_scale_and_noise(errors, outputs)
    return _scaled(model, scale), _with_noise(likelihood, np.maximum(noise, _LEAST_NOISE))


def best_scale_and_noise(errors: Errors, outputs: int) -> tuple[float, Float[np.ndarray, "T"]]:
    """The c and σ² of each output for which the log loss of the errors is least.

    The variance is V = between + c·within + σ², and the loss Σ ½[log V + error²/V].

    Args:
        errors: of rows that were left out or held out.
        outputs: the number of outputs.
    """
    weight = errors.weight / np.sum(errors.weight)
    size = max(float(weight @ errors.error**2), 1e-12)
    scales = _SCALES * size / max(float(weight @ errors.within), 1e-300)
    best = (np.inf, _LEAST_SCALE, np.full(outputs, size))
    for scale in scales:
        total, noise = 0.0, np.full(outputs, size)
        known = errors.between + scale * errors.within
        for output in range(outputs):
            own = errors.output == output
            if not np.any(own):
                continue
            variance = known[own] + size * _NOISES[:, None]
            losses = (np.log(variance) + errors.error[own] ** 2 / variance) @ weight[own]
            noise[output] = size * _NOISES[np.argmin(losses)]
            total += np.min(losses)
        if total < best[0]:
            best = (total, max(float(scale), _LEAST_SCALE), noise)
    return best[1:]


def without_scale(model: Model) -> Model:
    """Undo `with_variance`: u = √c L v with mean m is the same as u = L v with mean √c m."""
    kernels = [gp.kernel for gp in model.top_gps]
    if not kernels or not all(isinstance(kernel, CalibratedScale) for kernel in kernels):
        return model
    root = jnp.sqrt(unwrap(kernels[0].variance))  # the same for all
    parts = tuple(kernel.part for kernel in kernels)
    model = eqx.tree_at(lambda m: tuple(gp.kernel for gp in m.top_gps), model, parts)
    return _with_means(model, tuple(root * unwrap(mean) for mean in model.top_means))


def _scaled(model: Model, scale: float) -> Model:
    """The kernels of the last layer times `scale`, with the same mean of f."""
    kernels = tuple(CalibratedScale(gp.kernel, scale) for gp in model.top_gps)
    model = eqx.tree_at(lambda m: tuple(gp.kernel for gp in m.top_gps), model, kernels)
    return _with_means(model, tuple(unwrap(mean) / np.sqrt(scale) for mean in model.top_means))


def _with_means(model: Model, means: tuple[Array, ...]) -> Model:
    return eqx.tree_at(lambda m: m.top_means, model, means)


def _with_noise(
    likelihood: Gaussian | GaussianOutputs, noise: Float[np.ndarray, "T"]
) -> Gaussian | GaussianOutputs:
    if isinstance(likelihood, Gaussian):
        return Gaussian(float(noise[0]))
    return eqx.tree_at(lambda own: own.noise, GaussianOutputs(len(noise)), positive(noise, 1e-6))


# ---------------------------------------------------------------- the linear smoother


def _mean_of(model: Model, X: Float[Array, "N D"]) -> Float[Array, "N"]:
    """The predictive mean of f, by a form of the moments that `jax.linearize` supports."""
    q = model.for_prediction().condition("float64", "rotated").marginals(X, random_key(0))
    return q.average(q.mean[..., 0])


def _jacobian(model: Model, X: Float[Array, "N D"]) -> Float[Array, "K N"]:
    """∂E[f]/∂m for all K numbers of `top_means`."""
    flat, unravel = ravel_pytree(tuple(unwrap(mean) for mean in model.top_means))
    _, push = jax.linearize(lambda flat: _mean_of(_with_means(model, unravel(flat)), X), flat)
    return jax.vmap(push)(jnp.eye(len(flat), dtype=flat.dtype))


def _curvature(model: Model, objective: Objective) -> Float[Array, "K K"]:
    """H: the second derivative of the divergence in m, at the trained posterior."""
    flat, unravel = ravel_pytree(tuple(unwrap(mean) for mean in model.top_means))
    count = len(model.posteriors_by_layer)
    weight = objective.divergence.for_layer(count - 1, count).kl_weight
    if weight is not None:
        return weight * jnp.eye(len(flat), dtype=flat.dtype)

    def penalty(flat: Array) -> Array:
        return objective.penalty(_with_means(model, unravel(flat)), jnp.ones((), flat.dtype))

    return jax.hessian(penalty)(flat)


@eqx.filter_jit
def _covariance(
    model: Model, objective: Objective, data: Batch, beta: Float[Array, ""]
) -> Float[Array, "K K"]:
    """P⁻¹, summed over blocks of rows."""
    start = _curvature(model, objective)

    def add(total: Array, rows: Batch):
        jacobian = _jacobian(model, rows.X)
        return total + (jacobian * rows.weight) @ jacobian.T / beta, None

    blocks = to_blocks(data, rows_a_block(model.for_prediction().components))
    precision, _ = lax.scan(add, start, blocks)
    factor = jnp.linalg.cholesky(precision)
    return cho_solve((factor, True), jnp.eye(len(start), dtype=start.dtype))


def _with_covariance(model: Model, covariance: Float[Array, "K K"]) -> Model:
    """P⁻¹ as the posterior covariance of the last layer, by its blocks per latent function."""
    shapes, first, scales = [np.shape(unwrap(mean)) for mean in model.top_means], 0, []
    for latents, size in shapes:
        blocks = [slice(first + k * size, first + (k + 1) * size) for k in range(latents)]
        scales.append(jnp.stack([jnp.linalg.cholesky(covariance[at, at]) for at in blocks]))
        first += latents * size
    own = dict(zip(map(id, model.top_means), scales, strict=True))
    posteriors = tuple(
        WhitenedGaussian.from_moments(unwrap(gp.posterior.mean), own[id(gp.posterior.mean)])
        for gp in model.top_gps
    )
    return eqx.tree_at(lambda m: tuple(gp.posterior for gp in m.top_gps), model, posteriors)


# ---------------------------------------------------------------- errors


def _some_rows(data: Batch) -> Batch:
    """At most `_MOST_ROWS` rows of non-zero weight, evenly spaced."""
    rows = np.flatnonzero(np.asarray(data.weight) > 0)
    if len(rows) > _MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int)]
    return jax.tree.map(lambda column: column[rows], data)


def _joined(left_out: Errors, held_out: Errors) -> Errors:
    """Both, or the held-out rows only if their errors are significantly larger."""
    count = len(held_out.error)
    sizes = [np.average(own.error**2, weights=own.weight) for own in (left_out, held_out)]
    if count >= _ENOUGH_ROWS and sizes[1] > sizes[0] * (1.0 + 2.0 * np.sqrt(2.0 / count)):
        return held_out
    return Errors(*(np.concatenate(pair) for pair in zip(left_out, held_out, strict=True)))


def _errors(
    model: Model, covariance: Float[Array, "K K"] | None, rows: Batch, beta: float
) -> Errors:
    """Errors at rows; leave-one-out errors if the covariance P⁻¹ is given."""
    parts = [np.asarray(part) for part in _moments_at(model, covariance, rows)]
    mean, within, between, output, known = parts
    error, weight = np.asarray(rows.y) - mean, np.asarray(rows.weight)
    leverage = np.minimum(weight * known / beta, 1.0 - 1e-6)
    error = error / (1.0 - leverage)
    within = within + known * leverage / (1.0 - leverage)
    return Errors(error, within, between, np.rint(output).astype(int), weight)


@eqx.filter_jit
def _moments_at(model: Model, covariance: Float[Array, "K K"] | None, rows: Batch):
    """Mean, variance within and between components, output number, J_iᵀP⁻¹J_i (`known`)."""
    conditioned = model.for_prediction().condition("float64")

    def of_block(X: Array):
        q = conditioned.marginals(X, random_key(0))
        mean = q.average(q.mean[..., 0])
        between = q.average((q.mean[..., 0] - mean) ** 2)
        output = q.mean[0, :, 1] if q.mean.shape[-1] > 1 else jnp.zeros_like(mean)
        known = jnp.zeros_like(mean)
        if covariance is not None:
            jacobian = _jacobian(model, X)
            known = jnp.sum(jacobian * (covariance @ jacobian), axis=0)
        return mean, q.average(q.variance[..., 0]), between, output, known

    blocks = to_blocks(rows.X, rows_a_block(conditioned.components))
    return [part.reshape(-1)[: len(rows.y)] for part in lax.map(of_block, blocks)]
