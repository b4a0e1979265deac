"""Plain models beside a model: what is said of them, and where they are shown."""

from dataclasses import replace

import numpy as np
import pytest

from directgp.metrics import standard_error
from directgp.predictive import GaussianMixture
from directgp.report import choose, comparison_report, evaluation_report
from directgp.report.findings import against_baselines, gain


def beside(make, spread, rows=400):
    """A model of deviation `spread` where 1 is right, beside one that is right."""
    model = make.numbers(spread=spread, rows=rows)
    return replace(model, baselines={"linear regression": make.numbers(rows=rows).predictive})


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        (2.0, "linear regression is better on these rows"),
        (1.001, "which may be chance"),
    ],
)
def test_a_plain_model_that_is_better_is_said_to_be(make, spread, said):
    judged = beside(make, spread)
    (found,) = against_baselines(judged)
    assert said in found.sentence
    losses = [-p.log_prob(judged.y) for p in (*judged.baselines.values(), judged.predictive)]
    np.testing.assert_allclose(found.above, standard_error(losses[0] - losses[1]))


def test_a_plain_model_that_is_worse(make):
    judged = make.numbers()
    wide = GaussianMixture(np.zeros((1, 400)), np.full((1, 400), 10.0), np.zeros(1))
    (found,) = against_baselines(replace(judged, baselines={"boosted trees": wide}))
    assert found.above[0] > 0.8
    assert "lower by" in found.sentence and "chance" not in found.sentence


def test_pages_show_them_with_their_scores(make):
    judged = beside(make, 2.0)
    page = evaluation_report(judged, make.rows_of(judged))
    assert page.count("linear regression") >= 2 and "is better on these rows" in page
    other = replace(make.numbers(seed=0), name="other", baselines=judged.baselines)
    judged = replace(judged, name="model")
    page = comparison_report([judged, other], make.rows_of(judged))
    assert "baseline: linear regression" in page
    assert any("linear regression" in reason for reason in choose([judged, other]).reasons)


def test_captions_say_which_scores_are_better_when_they_are_large(judged_of_every_kind):
    pages = {kind: evaluation_report(*parts) for kind, parts in judged_of_every_kind.items()}
    assert "except for AUC, where higher is" in pages["two classes"]
    assert "except for coverage" in pages["numbers"]
    assert "except for coverage" not in pages["many classes"]


def test_the_size_of_errors_has_as_many_digits_as_is_known(make):
    judged = make.numbers(rows=60)
    flat = GaussianMixture(np.zeros((1, 60)), np.full((1, 60), 10.0), np.zeros(1))
    sentence = gain(judged, flat, "the mean").sentence
    assert sentence.startswith("Its RMSE is 1.0") and "(± " in sentence
    assert sentence.count("±") >= 4


def test_errors_are_drawn_against_predictions(pages):
    assert "Errors against predictions" in pages["numbers"]
    assert "Errors against predictions" in pages["counts"]
    assert "Errors against predictions" not in pages["two classes"]
