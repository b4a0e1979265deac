import numpy as np

from directgp import demo
from directgp.predictive import GaussianMixture
from directgp.report.demonstration import demo_report


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
