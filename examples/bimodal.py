"""A deep sigma point process on bimodal data: its predictive distribution is a mixture."""

import numpy as np

import directgp as dg


def main(steps: int = 1500) -> dict[str, float]:
    """Fit one layer and two layers to data with two branches.

    Args:
        steps: gradient steps of each fit.

    Returns:
        Mean negative log likelihood of held-out rows by model, and the effective number of
        mixture components of the deep model.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 1))
    branch = rng.choice([-1.0, 1.0], 600)
    y = branch * (0.5 + 0.5 * X[:, 0] ** 2) + 0.05 * rng.standard_normal(600)
    train, test = slice(0, 400), slice(400, 600)

    training = dg.Training(max_steps=steps)
    models = {
        "one layer": dg.Sparse(num_inducing=20),
        "deep sigma point process": dg.Deep(layers=2, num_inducing=20, num_sites=4),
    }
    results = {}
    for name, model in models.items():
        fitted = dg.fit(X[train], y[train], model=model, beta=0.1, training=training)
        results[name] = dg.metrics.nll(fitted.predict(X[test]), y[test])
        print(f"{name:26s} NLL {results[name]:.3f}")
    results["components"] = float(np.mean(fitted.effective_components(X[test])))
    print(f"effective mixture components: {results['components']:.2f}")
    return results


if __name__ == "__main__":
    main()
