"""Speed of training steps and predictions against the peers, measured in one run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.limit import limit_two_products
from benchmarks.ours import our_predict, our_step
from benchmarks.peers.gpjax_sparse import gpjax_step
from benchmarks.peers.gpytorch_sparse import gpytorch_predict, gpytorch_step
from benchmarks.problem import make_data
from benchmarks.timing import Contention, alternate, alternate_cells, wait_until_quiet
from directgp.expectations import EnvelopeSampler, MonteCarlo, ProductSampling, WideSampler
from directgp.likelihoods import likelihoods
from directgp.marginals import Marginals

SHAPES = (
    (1000, 26, 20),
    (1000, 26, 100),
    (1000, 26, 300),
    (1000, 26, 500),
    (2000, 8, 50),
    (10_000, 8, 100),
)


def step_rows(rounds: int = 5, wait: float = 60.0) -> list[dict]:
    """One row for each shape and loss: milliseconds a step and ratios peer / ours.

    The float64 peer is compared with our float64, the float32 peer with the faster of float64 and
    mixed, both of which have at least its precision (mixed does all M×M algebra in float64). Apart
    from these: the fast mode, in which a long fit starts and goes on where the data allow it.
    """
    rows = []
    for N, D, M in SHAPES:
        X, y = make_data(N, D)
        for loss in ("elbo", "direct"):
            wait_until_quiet(wait)
            steps = 50 if M <= 100 else 10  # a chunk of `fit` has 50
            ours64 = our_step(loss, X, y, M, N, "float64", steps=steps)
            mixed = our_step(loss, X, y, M, N, "mixed", steps=steps)
            fast = our_step(loss, X, y, M, N, "fast", steps=steps)
            torch32 = gpytorch_step(loss, X, y, M, N, "float32", threads=None)
            torch64 = gpytorch_step(loss, X, y, M, N, "float64", threads=None)
            gpjax = gpjax_step(loss, X, y, M, N, steps=4)
            cells = [ours64, mixed, fast, torch32, torch64, gpjax]
            with Contention() as others:
                seconds = list(alternate_cells(cells, rounds=rounds).values())
            o64, o32, first, t32, t64, gj = (1e3 * value for value in seconds)
            limit = 1e3 * limit_two_products(N, M, "float64")["best"]
            rows.append(
                {
                    "N": N,
                    "D": D,
                    "M": M,
                    "loss": loss,
                    "ours f64 ms": o64,
                    "ours mixed ms": o32,
                    "ours fast ms": first,
                    "GPyTorch f32 ms": t32,
                    "GPyTorch f64 ms": t64,
                    "GPJax f64 ms": gj,
                    "× GPyTorch f32": t32 / min(o32, o64),
                    "fast × GPyTorch f32": t32 / first,
                    "× GPyTorch f64": t64 / o64,
                    "× GPJax": gj / o64,
                    "ours / limit": o64 / limit,
                    "other cores busy": others.cores,
                }
            )
            print(rows[-1], flush=True)
    return rows


def predict_rows(rounds: int = 5, wait: float = 60.0) -> list[dict]:
    """Rows predicted per second (mean and variance), for equal precision."""
    rows = []
    for M in (100, 500):
        wait_until_quiet(wait)
        cells = [
            our_predict(20_000, 26, M, "float64"),
            our_predict(20_000, 26, M, "mixed"),
            gpytorch_predict(20_000, 26, M, "float32"),
            gpytorch_predict(20_000, 26, M, "float64"),
        ]
        with Contention() as others:
            times = alternate_cells(cells, rounds=rounds).values()
        o64, o32, t32, t64 = (1 / seconds for seconds in times)
        rows.append(
            {
                "M": M,
                "ours f64 rows/s": o64,
                "ours mixed rows/s": o32,
                "GPyTorch f32 rows/s": t32,
                "GPyTorch f64 rows/s": t64,
                "mixed × GPyTorch f32": o32 / t32,
                "f64 × GPyTorch f64": o64 / t64,
                "f64 × GPyTorch f32": o64 / t32,
                "other cores busy": others.cores,
            }
        )
    return rows


def sampling_rows(rounds: int = 5, wait: float = 60.0) -> list[dict]:
    """UPS against bMC at equal samples (batch 1000, M = 100), and classes against GPyTorch."""
    rows = []
    X, y = make_data(1000, 8)
    targets = {"bernoulli": (y > 0).astype(float), "poisson": np.rint(np.exp(y)).clip(0, 50)}
    for name, target in targets.items():
        likelihood = likelihoods.create(name)
        for samples in (1, 10):
            wait_until_quiet(wait)
            cells = [
                our_step(
                    "direct",
                    X,
                    target,
                    100,
                    1000,
                    steps=20,
                    likelihood=likelihood,
                    expectation=expectation,
                )
                for expectation in (MonteCarlo(samples), ProductSampling(samples))
            ]
            named = dict(zip(("bMC", "uPS"), (cell.run for cell in cells), strict=True))
            with Contention() as others:
                seconds = alternate(named, rounds=rounds)
            rows.append(
                {
                    "likelihood": name,
                    "samples": samples,
                    "bMC ms": 1e3 * seconds["bMC"] / 20,
                    "uPS ms": 1e3 * seconds["uPS"] / 20,
                    "uPS / bMC": seconds["uPS"] / seconds["bMC"],
                    "accepted": _acceptance(EnvelopeSampler(), likelihood, target, samples),
                    "accepted, paper's": _acceptance(WideSampler(), likelihood, target, samples),
                    "other cores busy": others.cores,
                }
            )
            print(rows[-1], flush=True)
    return rows


def _acceptance(sampler, likelihood, y, samples: int) -> float:
    """The share of accepted proposals at the start of training, q = N(0, 1) for every row."""
    with jax.enable_x64(True):
        q = Marginals(jnp.zeros((1, len(y), 1)), jnp.ones((1, len(y), 1)), jnp.zeros(1))
        draws = sampler.draw(likelihood, jnp.asarray(y), q, samples, jax.random.key(0))
        return float(draws.acceptance)


def classes_rows(rounds: int = 5, wait: float = 60.0) -> list[dict]:
    """A step of probit classification (M = 200, batch 1000, D = 8) against GPyTorch's ELBO."""
    X, y = make_data(1000, 8)
    labels = (y > 0).astype(float)
    wait_until_quiet(wait)
    likelihood = likelihoods.create("bernoulli")
    cells = {
        f"ours {loss} {short}": our_step(
            loss.lower(), X, labels, 200, 1000, precision, likelihood=likelihood
        )
        for loss in ("ELBO", "direct")
        for short, precision in (("f64", "float64"), ("mixed", "mixed"))
    } | {
        "GPyTorch ELBO f32": gpytorch_step(
            "elbo", X, labels, 200, 1000, threads=None, classes=True
        ),
    }
    with Contention() as others:
        seconds = alternate({name: cell.run for name, cell in cells.items()}, rounds=rounds)
    ms = {name: 1e3 * seconds[name] / cell.work for name, cell in cells.items()}
    row = {f"{name} ms": value for name, value in ms.items()}
    for loss in ("ELBO", "direct"):
        best = min(ms[f"ours {loss} f64"], ms[f"ours {loss} mixed"])
        row[f"× GPyTorch, {loss}"] = ms["GPyTorch ELBO f32"] / best
    return [row | {"other cores busy": others.cores}]
