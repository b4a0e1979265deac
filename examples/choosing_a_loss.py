"""Choosing a loss: one model, three losses, evaluated by three scores.

The noise varies with x but the likelihood has one noise level, so the loss decides what the model
gets right.
"""

import numpy as np

import directgp as dg


def main(steps: int = 400) -> dict[str, dict[str, float]]:
    """Train a sparse GP for each loss and print its scores on held-out rows.

    Args:
        steps: gradient steps of each fit.

    Returns:
        Scores by loss: mean negative log likelihood, CRPS and RMSE.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (900, 1))
    noise = 0.1 + 0.9 * np.exp(-0.5 * ((X[:, 0] - 7) / 1.2) ** 2)
    y = np.sin(1.3 * X[:, 0]) + noise * rng.standard_normal(900)
    train, test = slice(0, 600), slice(600, 900)

    scores = {}
    for loss in ("elbo", "direct-log", "direct-crps"):
        training = dg.Training(max_steps=steps)
        fitted = dg.fit(X[train], y[train], loss=loss, beta=1.0, training=training)
        predictive = fitted.predict(X[test])
        scores[loss] = {
            "nll": dg.metrics.nll(predictive, y[test]),
            "crps": dg.metrics.crps(predictive, y[test]),
            "rmse": dg.metrics.rmse(predictive, y[test]),
        }
        shown = ", ".join(f"{name} {value:.3f}" for name, value in scores[loss].items())
        print(f"{loss:12s} {shown}")
    return scores


if __name__ == "__main__":
    main()
