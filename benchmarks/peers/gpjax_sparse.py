"""GPJax's sparse GP as its own users run it: a training step, a whole fit.

The model and the losses are those of `gpytorch_sparse`, from the same starting point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from benchmarks.problem import (
    INITIAL_NOISE,
    Dtype,
    Loss,
    check_loss,
    initial_inducing,
    initial_lengthscale,
)
from benchmarks.timing import Cell, alternate
from benchmarks.trained import Clock, Trained, Watch, decayed
from directgp.predictive import GaussianMixture


def _dataset(X: np.ndarray, y: np.ndarray, num_data: int, dtype: Dtype) -> Any:
    import gpjax
    import jax.numpy as jnp

    gpx: Any = gpjax  # its annotations refuse the arrays that its constructors take
    return gpx.Dataset(X=jnp.asarray(X, dtype), y=jnp.asarray(y[:, None], dtype), n_total=num_data)


def _start(
    loss: Loss, Z: np.ndarray, dtype: Dtype, learning_rate: Any
) -> tuple[Any, Any, Any, Any]:
    """Parameters, Adam's state, a step (parameters, state, data) and what makes q of parameters."""
    import equinox as eqx
    import gpjax
    import jax
    import jax.numpy as jnp
    import optax

    check_loss(loss)
    gpx: Any = gpjax
    D = Z.shape[1]

    def direct(q: Any, data: Any) -> Any:
        marginal = q.condition(data)(data.X, covariance="diagonal")
        noisy = q.model.likelihood(marginal)
        residual = data.y[:, 0] - noisy.mean
        losses = 0.5 * (jnp.log(2 * jnp.pi * noisy.variance) + residual**2 / noisy.variance)
        return jnp.sum(losses) * data.full_size / data.n + q.prior_kl()

    def elbo(q: Any, data: Any) -> Any:
        return -gpx.objectives.elbo(q, data)

    objective = elbo if loss == "elbo" else direct
    kernel = gpx.kernels.RBF(
        lengthscale=jnp.full(D, initial_lengthscale(D), dtype), variance=jnp.ones((), dtype)
    )
    prior = gpx.gps.Prior(
        mean_function=gpx.mean_functions.Constant(jnp.zeros((), dtype)), kernel=kernel
    )
    likelihood = gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(INITIAL_NOISE**0.5, dtype))
    q = gpx.variational_families.WhitenedVariationalGaussian(
        model=prior * likelihood, inducing_inputs=jnp.asarray(Z, dtype)
    )
    start, static = eqx.partition(q, eqx.is_array)
    optimiser = optax.adam(learning_rate)

    def step(parameters: Any, state: Any, data: Any) -> Any:
        def value_of(parameters: Any) -> Any:
            return objective(eqx.combine(parameters, static), data)

        value, gradient = jax.value_and_grad(value_of)(parameters)
        updates, state = optimiser.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    return start, optimiser.init(start), step, lambda parameters: eqx.combine(parameters, static)


def gpjax_step(
    loss: Loss,
    X: np.ndarray,
    y: np.ndarray,
    M: int,
    num_data: int,
    dtype: Dtype = "float64",
    *,
    steps: int = 1,
    mode: Literal["jit", "scan", "best"] = "best",
    learning_rate: float = 1e-3,
    seed: int = 0,
) -> Cell:
    """GPJax: `steps` training steps per call on the batch X [N D], y [N].

    "jit" calls one compiled step after the other, "scan" compiles all steps into one `lax.scan`
    (as `gpjax.fit` does), and "best" tries both and keeps the faster one, named in
    `cell.info["mode"]`. GPJax has no direct loss of its own; "direct" is written with its public
    marginals and likelihood. float64 is what GPJax asks of its users.
    """
    import jax

    batch_size = len(X)
    wide = dtype == "float64"
    with jax.enable_x64(wide):
        data = _dataset(X, y, num_data, dtype)
        start, start_state, step, _ = _start(
            loss, initial_inducing(X, M, seed=seed), dtype, learning_rate
        )

    def many(parameters: Any, state: Any, data: Any) -> Any:
        def body(carry: Any, _: None) -> Any:
            parameters, state = carry
            parameters, state, value = step(parameters, state, data)
            return (parameters, state), value

        (parameters, state), values = jax.lax.scan(body, (parameters, state), None, length=steps)
        return parameters, state, values[-1]

    def runner(which: Literal["jit", "scan"]) -> tuple[Callable[[], None], Callable[[], float]]:
        compiled = jax.jit(step if which == "jit" else many)
        calls = steps if which == "jit" else 1
        parameters, state = start, start_state
        value: Any = float("nan")

        def run() -> None:
            nonlocal parameters, state, value
            with jax.enable_x64(wide):
                for _ in range(calls):
                    parameters, state, value = compiled(parameters, state, data)
                jax.block_until_ready((parameters, state, value))

        return run, lambda: float(value) / num_data

    # A scan of one step is a jitted step with a loop around it.
    if mode == "best" and steps > 1:
        candidates = {which: runner(which) for which in ("jit", "scan")}
        best = alternate({k: run for k, (run, _) in candidates.items()}, rounds=2, min_time=0.05)
        chosen = min(candidates, key=lambda which: best[which])
        run, value = candidates[chosen]
    else:
        chosen = "jit" if mode == "best" else mode
        run, value = runner(chosen)

    return Cell(
        name=f"gpjax {loss} {dtype}",
        run=run,
        work=steps,
        value=value,
        info={
            "peer": "gpjax",
            "loss": loss,
            "dtype": dtype,
            "M": M,
            "N": batch_size,
            "mode": chosen,
        },
    )


def gpjax_fit(
    X: np.ndarray,
    y: np.ndarray,
    watch: Watch,
    *,
    loss: Loss = "elbo",
    epochs: int = 60,
    batch: int = 1000,
    M: int = 200,
    seed: int = 0,
) -> Trained:
    """Train by mini-batches of Adam in float64, every epoch one compiled `lax.scan`."""
    import jax
    import jax.numpy as jnp

    clock = Clock()
    with jax.enable_x64(True):
        batch = min(batch, len(X))
        per_epoch = len(X) // batch
        rates = np.array([decayed(k // per_epoch, epochs) for k in range(epochs * per_epoch)])
        Z = initial_inducing(X, min(M, len(X)), "kmeans", seed)
        parameters, state, step, whole = _start(
            loss, Z, "float64", lambda count: jnp.asarray(rates)[count]
        )
        data = _dataset(X, y, len(X), "float64")

        @jax.jit
        def epoch(parameters: Any, state: Any, batches: Any) -> Any:
            def body(carry: Any, rows: Any) -> Any:
                part = type(data)(X=data.X[rows], y=data.y[rows], n_total=len(X))
                *carry, value = step(*carry, part)
                return tuple(carry), value

            return jax.lax.scan(body, (parameters, state), batches)[0]

        @jax.jit
        def moments(parameters: Any, inputs: Any) -> Any:
            q = whole(parameters)
            noisy = q.model.likelihood(q.condition(data)(inputs, covariance="diagonal"))
            return noisy.mean, noisy.variance

        def predict(inputs: np.ndarray) -> GaussianMixture:
            with jax.enable_x64(True):
                parts = [
                    moments(parameters, jnp.asarray(part))
                    for part in np.array_split(inputs, max(1, len(inputs) // 1000))
                ]
            mean, variance = (np.concatenate(part)[None] for part in zip(*parts, strict=True))
            return GaussianMixture(mean, variance, np.zeros(1))

        rng = np.random.default_rng(seed)
        for number in range(epochs):
            rows = rng.permutation(len(X))[: per_epoch * batch].reshape(per_epoch, batch)
            parameters, state = jax.block_until_ready(epoch(parameters, state, jnp.asarray(rows)))
            with clock.stopped() as seconds:
                watch.look(number + 1, seconds, predict)
    return Trained(predict, clock.seconds, epochs * per_epoch, watch.curve)
