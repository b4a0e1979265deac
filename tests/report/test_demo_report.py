from types import SimpleNamespace

import numpy as np

from directgp.predictive import GaussianMixture
from directgp.report import demo_models as demo
from directgp.report.demo_report import demo_report


def test_the_page_of_the_demo_shows_each_band_and_every_table():
    problem = demo.generated(0, quick=True)
    x, y = problem.splits[0].test.X[:, 0], problem.splits[0].test.y
    flat = GaussianMixture(demo.true_mean(x)[None], np.full((1, len(x)), 0.25), np.zeros(1))
    outcomes = {
        "ELBO": demo.Outcome(flat, y, (1.0,), 1.0),
        "direct": demo.Outcome(demo.truth(x), y, (0.5, 0.6), 2.0),
    }
    page = demo_report([(problem, outcomes), (problem._replace(name="again"), outcomes)])
    assert "Use direct: it is clearly better than ELBO" in page
    assert "Another table: again" in page
    for name in outcomes:
        assert f"{name}: NLL" in page
    assert "the true one from 0.080 to 0.98" in page


def test_the_page_of_the_demo_shows_how_it_was_learned(monkeypatch):
    """`train` hands on what `fit` records, and the page draws it."""
    problem = demo.generated(0, quick=True)
    history = {
        "step": [50, 100, 150],
        "risk": [1.4, 0.9, 0.8],
        "objective": [1.5, 1.1, 1.0],
        "validation": [1.3, 1.0, 0.95],
    }

    def fit(X, y, *, beta, **_options):
        chosen = 1.0 if beta == "auto" else beta
        return SimpleNamespace(
            predict=lambda X: demo.truth(X[:, 0]),
            beta=chosen,
            beta_curve={1.0: 0.9, 10.0: 1.1} if beta == "auto" else {},
            seconds=1.0,
            history=history,
        )

    monkeypatch.setattr(demo, "fit", fit)
    outcomes = {method.name: demo.train(method, problem, 0) for method in demo.METHODS[::-1]}
    page = demo_report([(problem, outcomes)])
    assert "Over 150 steps the objective falls from 1.5" in page
    assert "2 values from 1 to 10 were tried" in page
