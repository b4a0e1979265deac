"""A first regression: fit, predict with intervals, and check their coverage on held-out rows."""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import directgp as dg


def main(steps: int = 400) -> dict[str, float]:
    """Fit a sparse GP to the diabetes data of scikit-learn and print its test scores.

    Args:
        steps: gradient steps for each candidate value of β.

    Returns:
        RMSE, mean negative log likelihood, and coverage of the 90 % intervals.
    """
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

    model = dg.GPRegressor(layers=1, max_steps=steps, random_state=0).fit(X_train, y_train)

    mean, std = model.predict(X_test[:3], return_std=True)
    lower, upper = model.predict_interval(X_test[:3], coverage=0.9)
    for row in range(3):
        print(
            f"y = {y_test[row]:3.0f}: mean {mean[row]:5.1f}, std {std[row]:4.1f}, "
            f"90 % interval [{lower[row]:5.1f}, {upper[row]:5.1f}]"
        )

    predictive = model.predict_distribution(X_test)
    scores = {
        "rmse": dg.metrics.rmse(predictive, y_test),
        "nll": dg.metrics.nll(predictive, y_test),
        "coverage": dg.metrics.coverage(predictive, y_test, 0.9),
    }
    print(", ".join(f"{name} {value:.3g}" for name, value in scores.items()))
    return scores


if __name__ == "__main__":
    main()
