"""Figures of predicted class probabilities.

Each takes the predicted probabilities, the observed class numbers and the rows with their labels.
"""

import numpy as np

from directgp import metrics
from directgp.predictive import ClassProbabilities
from directgp.report.calibration_check import Reliability
from directgp.report.chart import Chart
from directgp.report.html import matrix, table
from directgp.report.judged import Table
from directgp.report.numbers import percent

_MOST_CLASSES = 12
_CHANCE = "simultaneous 95 % band of a calibrated model"


def reliability(predictive: ClassProbabilities, y: np.ndarray, rows: Table) -> str:
    """Reliability diagram: of class 1 of two, or of the predicted class of several."""
    binary = predictive.num_classes == 2
    found = Reliability(predictive, y)
    curve = found.curve
    event = f"“{rows.class_name(1)}”" if binary else "the predicted class"
    chart = Chart(
        (0, 1),
        (0, 1),
        x_label=f"predicted probability of {event}",
        y_label="observed frequency",
    )
    chart.line((0, 1), (0, 1), "guide", "perfect")
    chart.spans(curve.confidence, found.low, found.high, "error", _CHANCE)
    names = [
        f"{n:,} rows: predicted {c:.2f}, observed {f:.2f}" for c, f, n in zip(*curve, strict=True)
    ]
    chart.line(curve.confidence, curve.frequency, "one", "this model")
    chart.dots(curve.confidence, curve.frequency, "one", radius=4, names=names)
    return chart.figure(
        "Reliability curve",
        "; ".join(names) + f". The mean gap is {percent(found.mean_gap)}.",
        "On the diagonal, observed frequencies equal predicted probabilities.",
    )


def probabilities(predictive: ClassProbabilities, y: np.ndarray, rows: Table) -> str:
    """Histogram of P(class 1) by true class, or of the confidence of right and wrong rows."""
    if predictive.num_classes == 2:
        values, split = predictive.probabilities[:, 1], y == 1
        labels = f"true “{rows.class_name(1)}”", f"true “{rows.class_name(0)}”"
        name = f"predicted probability of “{rows.class_name(1)}”"
        caption = "Well separated colours mean that the model distinguishes the classes."
    else:
        values, split = np.max(predictive.probabilities, axis=1), predictive.predicted == y
        labels = "right", "wrong"
        name = "probability of the predicted class"
        caption = "Predictions on the right are confident; few of them should be wrong."
    edges = np.linspace(0, 1, 21)
    first, second = (np.histogram(values[s], edges)[0] for s in (split, ~split))
    top = float(np.max(first + second))
    chart = Chart((0, 1), (0, 1.05 * top), x_label=name, y_label="rows")
    chart.bars(edges, first, "one", labels[0])
    chart.bars(edges, second, "two", labels[1], base=first)
    sure = values >= 0.9
    share = percent(float(np.mean(sure)))
    return chart.figure(
        "Confidence",
        f"Rows by {name}, from 0 to 1. {share} of the rows are at 0.9 or more"
        + (
            f", and of these {percent(float(np.mean(split[sure])))} are {labels[0]}."
            if sure.any()
            else "."
        ),
        caption,
    )


def confusion(predictive: ClassProbabilities, y: np.ndarray, rows: Table) -> str:
    """True against predicted class: a matrix for a few classes, the commonest errors for many."""
    K = predictive.num_classes
    counts = np.zeros((K, K), dtype=int)
    np.add.at(counts, (y.astype(int), predictive.predicted), 1)
    names = [rows.class_name(k) for k in range(K)]
    if K <= _MOST_CLASSES:
        return matrix("Rows by true class and most probable class.", names, counts.tolist())
    errors = [(counts[i, j], i, j) for i in range(K) for j in range(K) if i != j and counts[i, j]]
    return table(
        f"The commonest errors among {K} classes.",
        ("truth", "predicted", "rows", "share of the true class"),
        [
            (names[i], names[j], f"{n:,}", percent(n / counts[i].sum()))
            for n, i, j in sorted(errors, reverse=True)[:_MOST_CLASSES]
        ],
    )


def precision_and_recall(predictive: ClassProbabilities, y: np.ndarray, rows: Table) -> str:
    """A table of precision and recall by class, the commonest classes first."""
    found = metrics.precision_recall(predictive, y)
    order = np.argsort(-found.rows, kind="stable")[:_MOST_CLASSES]
    return table(
        "Precision and recall, when the most probable class is predicted.",
        ("class", "rows", "predicted", "precision", "recall"),
        [
            (
                rows.class_name(int(k)),
                f"{found.rows[k]:,}",
                f"{found.predicted[k]:,}",
                percent(float(found.precision[k])),
                percent(float(found.recall[k])),
            )
            for k in order
        ],
    )
