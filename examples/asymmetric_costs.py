"""Decisions under asymmetric costs: stock for days of uncertain demand, and a screening test."""

import numpy as np

import directgp as dg


def main(steps: int = 400) -> dict[str, float]:
    """Compare the actions of least expected cost with acting on the mean or the likeliest class.

    Args:
        steps: gradient steps of each fit.

    Returns:
        Mean realised cost per row of the four policies.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (900, 1))
    train, test = slice(0, 600), slice(600, 900)

    # A number: an item that is missing costs 9 times as much as one that is left over.
    demand = 50 + 15 * np.sin(X[:, 0]) + 8 * rng.standard_normal(900)
    stock = dg.NewsvendorCost(under=9, over=1)
    model = dg.GPRegressor(beta=1.0, max_steps=steps).fit(X[train], demand[train])
    decision = model.decide(X[test], stock)  # the 90 % quantile of demand
    mean = model.predict(X[test])

    # A class: a missed case costs 20 times as much as a false alarm.
    ill = (rng.random(900) < 1 / (1 + np.exp(3 - 2 * X[:, 0]))).astype(int)
    screening = dg.BinaryCost(false_positive=1, false_negative=20)
    classifier = dg.GPClassifier(beta=1.0, max_steps=steps).fit(X[train], ill[train])
    alarm = classifier.decide(X[test], screening)  # where P(ill) exceeds 1/21
    likeliest = classifier.predict(X[test])

    costs = {
        "stock, least expected cost": decision.realised(demand[test]).mean(),
        "stock, the mean": stock.realised(demand[test], mean).mean(),
        "screening, least expected cost": alarm.realised(ill[test]).mean(),
        "screening, likeliest class": screening.realised(ill[test], likeliest).mean(),
    }
    for policy, cost in costs.items():
        print(f"{policy:32s} {cost:6.2f} per row")
    return {policy: float(cost) for policy, cost in costs.items()}


if __name__ == "__main__":
    main()
