"""The peers' side of the benchmarks: GPyTorch and GPJax as their own users run them.

Every training factory returns a `Cell` whose `run` performs `steps` Adam steps on a fixed batch:
whitened q(u) with full covariance, learned inducing inputs, constant mean, scaled ARD RBF kernel,
Gaussian noise. The loss is either of

    elbo    (num_data/N) sum_n E_q[-log N(y_n; f_n, s2)] + KL(q(u) || p(u))
    direct  (num_data/N) sum_n -log E_q[N(y_n; f_n, s2)] + KL(q(u) || p(u))

divided by num_data. Both peers start at the same point. Print the peers' table with
`python -m benchmarks.peers` from the repository root.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import gpytorch
import numpy as np
import torch
from scipy.cluster.vq import kmeans2

from benchmarks.timing import (
    Cell,
    Contention,
    alternate,
    alternate_cells,
    markdown_table,
    time_once,
    wait_until_quiet,
    write_json,
)

Loss = Literal["elbo", "direct"]
Dtype = Literal["float32", "float64"]
Predict = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

INITIAL_NOISE = 0.1
"""Initial noise variance of every contestant."""

THREADS = min(2, os.cpu_count() or 1)


def make_data(n: int, D: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Standardised inputs [n D] and a smooth target [n] with noise, in float64."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    directions = rng.standard_normal((D, 3)) / np.sqrt(D)
    y = np.sin(X @ directions * 2).sum(1) + 0.3 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def initial_lengthscale(D: int) -> float:
    """Initial lengthscale of every contestant.

    The square root of D keeps kernel values of standardised inputs well above zero. At GPyTorch's
    own 0.69 most of them underflow when D = 26, and denormal floats would distort the timing.
    """
    return float(np.sqrt(D))


def initial_inducing(
    X: np.ndarray, M: int, method: Literal["random", "kmeans"] = "random", seed: int = 0
) -> np.ndarray:
    """Inducing inputs [M D]: random rows of X [N D], or k-means centres started from such rows."""
    if len(X) < M:
        raise ValueError(f"M must be at most the number of rows, got M={M} for {len(X)} rows")
    rng = np.random.default_rng(seed)
    Z = X[rng.choice(len(X), M, replace=False)]
    if method == "kmeans":
        Z, _ = kmeans2(X, Z, iter=10, minit="matrix", missing="warn")
    return Z


def _check_loss(loss: str) -> None:
    if loss not in ("elbo", "direct"):
        raise ValueError(f"loss must be 'elbo' or 'direct', got {loss!r}")


# GPyTorch


class SparseGP(gpytorch.models.ApproximateGP):
    """GPyTorch's sparse GP with its whitened strategy and its other settings as they come."""

    def __init__(self, Z: torch.Tensor, lengthscale: float | None) -> None:
        M, D = Z.shape
        q = gpytorch.variational.CholeskyVariationalDistribution(M)
        super().__init__(
            gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True)
        )
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=D))
        if lengthscale is not None:
            self.covar_module.base_kernel.lengthscale = torch.tensor(lengthscale)
            self.covar_module.outputscale = 1.0

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        """The prior at x [N D]."""
        return gpytorch.distributions.MultivariateNormal(
            self.mean_module(x),  # pyright: ignore[reportArgumentType]
            self.covar_module(x),  # pyright: ignore[reportArgumentType]
        )


def _gpytorch_model(
    Z: np.ndarray, dtype: Dtype, lengthscale: float | None, noise: float | None
) -> tuple[SparseGP, gpytorch.likelihoods.GaussianLikelihood]:
    torch.set_num_threads(THREADS)
    kind = getattr(torch, dtype)
    model = SparseGP(torch.as_tensor(Z, dtype=kind), lengthscale).to(kind)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(kind)
    if noise is not None:
        likelihood.noise = torch.tensor(noise)
    return model, likelihood


def _gpytorch_objective(
    loss: Loss,
    likelihood: gpytorch.likelihoods.Likelihood,
    model: SparseGP,
    num_data: int,
) -> Any:
    _check_loss(loss)
    kind = (
        gpytorch.mlls.VariationalELBO if loss == "elbo" else gpytorch.mlls.PredictiveLogLikelihood
    )
    return kind(likelihood, model, num_data=num_data)


def gpytorch_step(
    loss: Loss,
    X: np.ndarray,
    y: np.ndarray,
    M: int,
    num_data: int,
    dtype: Dtype = "float32",
    *,
    steps: int = 1,
    threads: int | None = THREADS,
    learning_rate: float = 1e-3,
    seed: int = 0,
    classes: bool = False,
) -> Cell:
    """GPyTorch: `steps` training steps per call on the batch X [N D], y [N].

    With `classes` y is 0 or 1 and the likelihood GPyTorch's Bernoulli (probit).

    `threads` None tries one thread and all of them and keeps the faster, named in
    `cell.info["threads"]`: small M does better with one, and a busy machine needs it.
    """
    torch.manual_seed(seed)
    model, likelihood = _gpytorch_model(
        initial_inducing(X, M, seed=seed), dtype, initial_lengthscale(X.shape[1]), INITIAL_NOISE
    )
    if classes:
        likelihood = gpytorch.likelihoods.BernoulliLikelihood()
    model.train()
    likelihood.train()
    objective = _gpytorch_objective(loss, likelihood, model, num_data)
    inputs = torch.as_tensor(X, dtype=getattr(torch, dtype))
    targets = torch.as_tensor(y, dtype=getattr(torch, dtype))
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=learning_rate)
    latest = torch.tensor(float("nan"))

    def run_with(threads: int) -> None:
        nonlocal latest
        torch.set_num_threads(threads)
        for _ in range(steps):
            optimiser.zero_grad()
            value = -objective(model(inputs), targets)
            value.backward()
            optimiser.step()
            latest = value.detach()

    if threads is None:
        trials = {str(k): partial(run_with, k) for k in sorted({1, THREADS})}
        best = alternate(trials, rounds=2, min_time=0.05)
        threads = int(min(best, key=lambda name: best[name]))

    return Cell(
        name=f"gpytorch {loss} {dtype}",
        run=partial(run_with, threads),
        work=steps,
        value=lambda: float(latest),
        info={
            "peer": "gpytorch",
            "loss": loss,
            "dtype": dtype,
            "M": M,
            "N": len(X),
            "threads": threads,
        },
    )


def _gpytorch_predictor(
    model: SparseGP, likelihood: gpytorch.likelihoods.GaussianLikelihood, chunk: int
) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    model.eval()
    likelihood.eval()

    def predict(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        means, variances = [], []
        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            for part in inputs.split(chunk):
                marginal: Any = likelihood(model(part))
                means.append(marginal.mean)
                variances.append(marginal.variance)
        return torch.cat(means), torch.cat(variances)

    return predict


def gpytorch_predict(
    num_test: int,
    D: int,
    M: int,
    dtype: Dtype = "float32",
    *,
    chunks: Sequence[int] = (500, 1000, 2000, 5000, 10_000),
    seed: int = 0,
) -> Cell:
    """GPyTorch: predictive mean and variance of `num_test` rows per call, in its best chunk size.

    The parameters are arbitrary (time does not depend on them). Rows per second are
    `cell.work / seconds per call`; the chosen chunk is in `cell.info["chunk"]`.
    """
    torch.manual_seed(seed)
    X, _ = make_data(num_test, D, seed)
    Z = np.random.default_rng(seed).standard_normal((M, D))
    model, likelihood = _gpytorch_model(Z, dtype, initial_lengthscale(D), INITIAL_NOISE)
    inputs = torch.as_tensor(X, dtype=getattr(torch, dtype))
    model(inputs[:2])  # GPyTorch sets q(u) at the first call, so ours must come after it
    q: Any = model.variational_strategy._variational_distribution
    with torch.no_grad():
        q.variational_mean.normal_()
        q.chol_variational_covar.mul_(0.3)

    seconds: dict[int, float] = {}
    for chunk in sorted({min(chunk, num_test) for chunk in chunks}):
        predict = _gpytorch_predictor(model, likelihood, chunk)
        some = inputs[: max(chunk, min(num_test, 5000))]
        predict(some)
        trials = [time_once(lambda p=predict, s=some: p(s) and None) for _ in range(3)]
        seconds[chunk] = min(trials) / len(some)
    chunk = min(seconds, key=lambda size: seconds[size])
    predict = _gpytorch_predictor(model, likelihood, chunk)
    latest = float("nan")

    def run() -> None:
        nonlocal latest
        torch.set_num_threads(THREADS)  # another cell may have left one thread
        _, variance = predict(inputs)
        latest = float(variance[-1])

    return Cell(
        name=f"gpytorch predict {dtype}",
        run=run,
        work=num_test,
        value=lambda: latest,
        info={"peer": "gpytorch", "dtype": dtype, "M": M, "N": num_test, "chunk": chunk},
    )


@dataclass(frozen=True)
class FitResult:
    """A trained peer: how long it took, and how well it does on test data."""

    predict: Predict
    """Mean and variance (noise included) at inputs [N D]."""
    seconds: float
    """Training alone: neither inducing inputs nor evaluation."""
    setup_seconds: float
    """Choice of inducing inputs and building the model."""
    nll: float
    """Mean negative log likelihood of the test targets."""
    rmse: float
    history: tuple[tuple[float, float], ...]
    """(training seconds, test nll) after each evaluated epoch; empty unless `eval_every` is set."""


def gaussian_nll(y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """Mean of -log N(y; mean, variance)."""
    return float(np.mean(0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance)))


def gpytorch_fit(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    *,
    loss: Loss = "direct",
    epochs: int = 60,
    batch: int = 1000,
    M: int = 200,
    learning_rate: float = 0.01,
    inducing: Literal["random", "kmeans"] = "kmeans",
    lengthscale: float | None = None,
    noise: float | None = None,
    dtype: Dtype = "float32",
    threads: int = THREADS,
    eval_every: int = 0,
    seed: int = 0,
) -> FitResult:
    """Train GPyTorch's sparse GP by minibatches of Adam and score it on test data.

    Give data standardised by the training rows. Epochs shuffle anew and keep the short last batch;
    the learning rate falls tenfold at 75% and again at 90% of the epochs. `lengthscale` and `noise`
    left at None are GPyTorch's own starting values; pass `initial_lengthscale(D)` and
    `INITIAL_NOISE` to start where the other contestants start. With `eval_every` the test NLL is
    recorded every so many epochs, off the clock, to find the time to reach a given NLL.
    """
    start = time.perf_counter()
    torch.manual_seed(seed)
    M = min(M, len(X))
    Z = initial_inducing(X, M, inducing, seed)
    model, likelihood = _gpytorch_model(Z, dtype, lengthscale, noise)
    torch.set_num_threads(threads)
    objective = _gpytorch_objective(loss, likelihood, model, len(X))
    kind = getattr(torch, dtype)
    inputs, targets = torch.as_tensor(X, dtype=kind), torch.as_tensor(y, dtype=kind)
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=learning_rate)
    schedule = torch.optim.lr_scheduler.MultiStepLR(
        optimiser, milestones=[round(0.75 * epochs), round(0.9 * epochs)], gamma=0.1
    )
    setup_seconds = time.perf_counter() - start

    predict_tensors = _gpytorch_predictor(model, likelihood, 1000)

    def predict(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        model.eval()
        likelihood.eval()
        mean, variance = predict_tensors(torch.as_tensor(X, dtype=kind))
        return mean.double().numpy(), variance.double().numpy()

    seconds = 0.0
    history: list[tuple[float, float]] = []
    for epoch in range(epochs):
        start = time.perf_counter()
        model.train()
        likelihood.train()
        for rows in torch.randperm(len(inputs)).split(batch):
            optimiser.zero_grad()
            value = -objective(model(inputs[rows]), targets[rows])
            value.backward()
            optimiser.step()
        schedule.step()
        seconds += time.perf_counter() - start
        if eval_every and (epoch + 1) % eval_every == 0:
            history.append((seconds, gaussian_nll(y_test, *predict(X_test))))

    mean, variance = predict(X_test)
    return FitResult(
        predict=predict,
        seconds=seconds,
        setup_seconds=setup_seconds,
        nll=gaussian_nll(y_test, mean, variance),
        rmse=float(np.sqrt(np.mean((y_test - mean) ** 2))),
        history=tuple(history),
    )


# GPJax


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
    import equinox as eqx
    import gpjax
    import jax
    import jax.numpy as jnp
    import optax

    _check_loss(loss)
    gpx: Any = gpjax  # its annotations refuse the arrays that its constructors take
    D = X.shape[1]
    batch_size = len(X)
    wide = dtype == "float64"

    def direct(q: Any, data: Any) -> Any:
        marginal = q.condition(data)(data.X, covariance="diagonal")
        noisy = q.model.likelihood(marginal)
        residual = data.y[:, 0] - noisy.mean
        losses = 0.5 * (jnp.log(2 * jnp.pi * noisy.variance) + residual**2 / noisy.variance)
        return jnp.sum(losses) * data.full_size / data.n + q.prior_kl()

    def elbo(q: Any, data: Any) -> Any:
        return -gpx.objectives.elbo(q, data)

    objective = elbo if loss == "elbo" else direct

    with jax.enable_x64(wide):
        data = gpx.Dataset(
            X=jnp.asarray(X, dtype), y=jnp.asarray(y[:, None], dtype), n_total=num_data
        )
        kernel = gpx.kernels.RBF(
            lengthscale=jnp.full(D, initial_lengthscale(D), dtype), variance=jnp.ones((), dtype)
        )
        prior = gpx.gps.Prior(
            mean_function=gpx.mean_functions.Constant(jnp.zeros((), dtype)), kernel=kernel
        )
        likelihood = gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(INITIAL_NOISE**0.5, dtype))
        q = gpx.variational_families.WhitenedVariationalGaussian(
            model=prior * likelihood,
            inducing_inputs=jnp.asarray(initial_inducing(X, M, seed=seed), dtype),
        )
        start, static = eqx.partition(q, eqx.is_array)
        optimiser = optax.adam(learning_rate)
        start_state = optimiser.init(start)

    def step(parameters: Any, state: Any, data: Any) -> Any:
        def value_of(parameters: Any) -> Any:
            return objective(eqx.combine(parameters, static), data)

        value, gradient = jax.value_and_grad(value_of)(parameters)
        updates, state = optimiser.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

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


# The limit


def limit_two_products(
    N: int, M: int, dtype: Dtype = "float64", *, rounds: int = 5, min_time: float = 0.03
) -> dict[str, float]:
    """Seconds of the two N M^2 products that one training step cannot do without.

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


# The peers' own table


def peer_row(
    N: int, D: int, M: int, *, num_data: int | None = None, rounds: int = 3, min_time: float = 0.1
) -> dict[str, object]:
    """Milliseconds per training step of every peer in one setting, alternating.

    GPyTorch runs with one thread and with all, in columns of their own. "others" counts the cores
    that other processes kept busy meanwhile; rows where it is not near zero are not to be quoted.
    """
    X, y = make_data(N, D)
    num_data = num_data or N
    cells: list[Cell] = []
    for dtype in ("float32", "float64"):
        for loss in ("elbo", "direct"):
            for threads in sorted({1, THREADS}):
                cell = gpytorch_step(loss, X, y, M, num_data, dtype, threads=threads)
                cells.append(replace(cell, name=f"gpytorch {loss} {dtype[5:]} {threads}t"))
    modes = []
    steps = 10 if N * M * M < 2e7 else 3
    for loss in ("elbo", "direct"):
        cell = gpjax_step(loss, X, y, M, num_data, steps=steps)
        cells.append(replace(cell, name=f"gpjax {loss} 64"))
        modes.append(str(cell.info["mode"]))
    with Contention() as others:
        seconds = alternate_cells(cells, rounds, min_time)
        limits = {
            f"limit {dtype[5:]}": limit_two_products(N, M, dtype)["best"]
            for dtype in ("float32", "float64")
        }
    row: dict[str, object] = {"N": N, "D": D, "M": M}
    row |= {name: 1e3 * value for name, value in (seconds | limits).items()}
    return row | {"gpjax mode": "/".join(modes), "others": others.cores}


def main() -> None:
    """Print the peers' step times (ms per step) and prediction speed, and write them as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--json", default=None, help="also write the tables to this file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wait", type=float, default=30, help="seconds to wait for a quiet moment")
    options = parser.parse_args()

    settings = [(1000, 26, M, 50_000) for M in (20, 100, 300, 500)]
    settings += [(2000, 8, 50, 2000), (10_000, 8, 100, 10_000)]
    steps = []
    for N, D, M, num_data in settings:
        wait_until_quiet(options.wait)
        row = peer_row(N, D, M, num_data=num_data, rounds=options.rounds)
        steps.append(row)
        print(f"done: N={N} D={D} M={M}; others kept {row['others']:.2f} cores busy", flush=True)
    print("\nms per training step\n" + markdown_table(steps))

    predictions = []
    for M in (100, 500):
        for dtype in ("float32", "float64"):
            wait_until_quiet(options.wait)
            cell = gpytorch_predict(20_000, 26, M, dtype)
            with Contention() as others:
                seconds = alternate_cells([cell], rounds=options.rounds)[cell.name]
            row = {"M": M, "dtype": dtype, "chunk": cell.info["chunk"], "rows/s": 1 / seconds}
            row["others"] = others.cores
            predictions.append(row)
    print("\nGPyTorch prediction\n" + markdown_table(predictions))

    if options.json:
        path = write_json(options.json, {"step_ms": steps, "gpytorch_predict": predictions})
        print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
