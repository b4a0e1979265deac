"""Errors of float32 steps against float64, in values and gradients, ours and GPyTorch's.

A step that is faster but less exact would not be comparable, so all are evaluated at one trained
model: each library is compared with itself in float64, at the same parameters and jitter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import gpytorch
import jax
import jax.numpy as jnp
import numpy as np
import torch

from benchmarks.ours import LOSSES, start
from benchmarks.peers.gpytorch_sparse import objective_of, sparse_model
from benchmarks.problem import Dtype, Loss, make_data
from directgp import GP, KL, Batch, Gaussian, Objective
from directgp.expectations import choose_expectation
from directgp.losses import losses
from directgp.models.sparse_gp import JITTER
from directgp.parameters import split_trainable, unwrap
from directgp.training import loop
from directgp.training.precision import is_exact_enough

N, D, M = 10_000, 8, 100
_GPYTORCH_LEAST_NOISE = 2e-4
"""GPyTorch raises an error at 1e-4 and less."""
PARTS = ("inducing", "lengthscale", "mean", "scale")


def precision_rows(steps: int = 1000) -> list[dict]:
    """One row for each loss and float32 mode: errors relative to float64, after training."""
    X, y = make_data(N, D)
    rows = []
    for loss in ("elbo", "direct"):
        with jax.enable_x64(True):
            gp, objective, data = _trained(loss, X, y, steps)
            exact = _ours(gp, objective, data, "float64")
            named = {
                f"directgp {name}": (
                    _ours(gp, objective, data, name),
                    exact,
                    is_exact_enough(gp, data, name),
                )
                for name in ("mixed", "fast")
            }
        theirs = (_gpytorch(loss, gp, X, y, kind) for kind in ("float32", "float64"))
        named["GPyTorch float32"] = (*theirs, None)
        rows += [
            {"loss": loss, "method": name, **_errors(rough, exact), "our guard lets it": passes}
            for name, (rough, exact, passes) in named.items()
        ]
    return rows


Answers = dict[str, np.ndarray]
"""Marginal mean, variance and noise at the rows, and the gradient with respect to each part."""


def _errors(rough: Answers, exact: Answers) -> dict[str, float]:
    spread = exact["v"] + exact["noise"]
    return {
        "mean / sd": float(np.sqrt(np.mean((rough["μ"] - exact["μ"]) ** 2 / spread))),
        "variance / spread": float(np.sqrt(np.mean(((rough["v"] - exact["v"]) / spread) ** 2))),
    } | {
        f"∂ {part}": float(np.linalg.norm(rough[part] - exact[part]) / np.linalg.norm(exact[part]))
        for part in PARTS
    }


def _trained(loss: Loss, X: np.ndarray, y: np.ndarray, steps: int) -> tuple[GP, Objective, Batch]:
    gp = start(X, M)
    data = Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(len(y)))
    chosen = losses.create(LOSSES[loss])
    how = choose_expectation(chosen.needs, gp.likelihood)
    objective = Objective(chosen, KL(), how, "float64")
    settings = loop.Settings(steps=steps, batch_size=1000, learning_rate=0.05)
    trained = loop.run(gp, objective, data, settings, beta=1.0).gp
    noise = jnp.maximum(unwrap(trained.likelihood.noise), _GPYTORCH_LEAST_NOISE)
    return trained._replace(likelihood=Gaussian(noise)), objective, data


def _ours(gp: GP, objective: Objective, data: Batch, precision: str) -> Answers:
    learned, fixed = split_trainable(gp)
    asked = replace(objective, precision=precision)

    def value(learned: Any) -> jax.Array:
        own = eqx.combine(learned, fixed)
        count, key = jnp.asarray(float(N)), jax.random.key(0)
        return asked(own.model, own.likelihood, data, beta=1.0, num_data=count, key=key)[0]

    gradient: Any = jax.jit(jax.grad(value))(learned)
    q = eqx.filter_jit(lambda model, X: model.condition(precision).marginals(X))(gp.model, data.X)
    raw = {
        "inducing": gradient.model.inducing,
        "lengthscale": gradient.model.kernel.lengthscale,
        "mean": gradient.model.posterior.mean,
        "scale": gradient.model.posterior.scale,
        "μ": q.mean,
        "v": q.variance,
        "noise": gp.likelihood.latent_noise(q.mean),
    }
    return {name: np.concatenate([np.ravel(x) for x in jax.tree.leaves(part)])
            for name, part in raw.items()}  # fmt: skip


def _gpytorch(loss: Loss, gp: GP, X: np.ndarray, y: np.ndarray, dtype: Dtype) -> Answers:
    """The same model in GPyTorch, at the same parameters."""
    with jax.enable_x64(True):
        kernel, Z, noise = unwrap((gp.model.kernel, gp.model.inducing, gp.likelihood.noise))
        m, S = (np.asarray(part[0]) for part in gp.model.posterior.moments())
    model, likelihood = sparse_model(np.asarray(Z), dtype, 1.0, float(noise))
    kind = getattr(torch, dtype)
    inputs, targets = (torch.as_tensor(part, dtype=kind) for part in (X, y))
    model.train()
    likelihood.train()
    model(inputs[:2])  # GPyTorch sets q(u) at the first call, so ours must come after it
    q: Any = model.variational_strategy._variational_distribution
    with torch.no_grad():
        model.covar_module.base_kernel.lengthscale = torch.as_tensor(np.array(kernel.lengthscale))
        model.covar_module.outputscale = float(kernel.variance)
        q.variational_mean.copy_(torch.as_tensor(m))
        q.chol_variational_covar.copy_(torch.as_tensor(S))
    jitter = gpytorch.settings.variational_cholesky_jitter
    with jitter(float_value=JITTER, double_value=JITTER):
        marginal = model(inputs)
        (-objective_of(loss, likelihood, model, N)(marginal, targets)).backward()
    raw: dict[str, Any] = {
        "inducing": model.variational_strategy.inducing_points.grad,
        "lengthscale": model.covar_module.base_kernel.raw_lengthscale.grad,
        "mean": q.variational_mean.grad,
        "scale": torch.tril(q.chol_variational_covar.grad),
        "μ": marginal.mean.detach(),
        "v": marginal.variance.detach(),
        "noise": likelihood.noise.detach(),
    }
    return {name: np.ravel(part.double().numpy()) for name, part in raw.items()}
