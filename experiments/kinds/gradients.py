"""Direction, size and bias of sampled gradients, right after initialisation (`dlm` Fig. 1 g, h)."""

from pathlib import Path

import jax
import numpy as np

from directgp.divergences import KL
from directgp.expectations import choose_expectation, expectations
from directgp.fitting.flat_options import trained_model_from_options
from directgp.fitting.prepare import prepare
from directgp.likelihoods import likelihoods
from directgp.losses import Direct, LogLoss
from directgp.objective import Objective
from directgp.parameters import float64
from directgp.theory.gradients import gradient_statistics
from experiments.datasets import rows_of
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.method import part


@kinds.register("gradients")
@float64
def gradients(record: Record, folder: Path) -> Outcome:
    """`repeats` gradients of the direct log loss with respect to the mean of q(u).

    The true gradient is that of the closed form or quadrature (the paper: 10,000 samples).
    """
    rows, seed = rows_of(record, folder), record["seed"]
    likelihood = likelihoods.create(record["likelihood"]).for_targets(rows.y)
    ready = prepare(
        rows.X, rows.y, likelihood,
        model=trained_model_from_options({
            "kernel": part("kernel", record["kernel"], rows, seed), "mean": record["mean"],
            "num_inducing": record["num_inducing"],
        }),
        validation=None, hold_out=lambda rows: False, sample_weight=None, seed=seed,
    )  # fmt: skip
    loss = Direct(LogLoss())
    sampled = expectations.resolve(part("expectation", record["expectation"], rows, seed))
    found = gradient_statistics(
        *ready.gp, Objective(loss, KL(), sampled), ready.data,
        beta=float(record["beta"]), num_data=len(rows.y), repeats=record["repeats"],
        reference=choose_expectation(loss.needs, ready.gp.likelihood), key=jax.random.key(seed),
        where=lambda model, _likelihood: model.posterior.mean,
    )  # fmt: skip
    scores = {
        "relative_bias": found.relative_bias,
        "noise_level": found.noise_level,
        "excess_bias": float(np.sqrt(max(0.0, found.relative_bias**2 - found.noise_level**2))),
        "direction": float(np.mean(found.direction)),
        "direction_spread": float(np.std(found.direction)),
        "size": float(np.mean(found.size)),
    }
    curve = {
        "direction": _short(found.direction),
        "size": _short(found.size),
        "bias": _short(found.bias / np.linalg.norm(found.reference)),
    }
    return Outcome(scores, curve)


def _short(values: np.ndarray) -> list[float]:
    """Six digits are enough for a histogram."""
    return [float(f"{value:.6g}") for value in values]
