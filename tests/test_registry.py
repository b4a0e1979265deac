"""Parts by name or as they are: what is neither is refused in one line that says what to give."""

import numpy as np
import pytest

import directgp as dg
from directgp import DirectGPError
from directgp.divergences import divergences
from directgp.expectations import expectations
from directgp.kernels import kernels
from directgp.likelihoods import likelihoods
from directgp.losses import losses, scores


@pytest.mark.parametrize(
    ("registry", "wrong", "words"),
    [
        (
            likelihoods,
            dg.CRPS(),
            r"must be a name \(.*poisson.*\) or of class Likelihood, got a CRPS",
        ),
        (losses, dg.KL(), r"loss must be a name \(.*\) or of class Loss, got a KL"),
        (scores, dg.KL(), "or of class Score, got a KL"),
        (kernels, 2.0, "or of class Kernel, got a float"),
        (kernels, dg.RBF, r"got the class RBF; write RBF\(\)"),
        (divergences, None, "or of class Divergence, got a NoneType"),
        (expectations, 10, "or of class Expectation, got a int"),
    ],
    ids=["likelihood", "loss", "score", "kernel", "class", "divergence", "expectation"],
)
def test_what_is_no_part_of_the_kind_is_refused(registry, wrong, words):
    with pytest.raises(ValueError, match=words) as caught:
        registry.resolve(wrong)
    assert "\n" not in str(caught.value)


def test_parts_and_names_stay_what_they_are():
    kernel = 2.0 * dg.RBF()
    assert isinstance(kernel, dg.Scaled) and kernels.resolve(kernel) is kernel
    assert losses.resolve("elbo") == dg.Gibbs(dg.LogLoss())
    assert losses.resolve(dg.CRPS()) == dg.Direct(dg.CRPS())  # as GPRegressor reads a score


def test_fit_takes_scores_and_sees_wrong_kernels_before_it_trains():
    X = np.zeros((20, 3))
    with pytest.raises(ValueError, match="RBF has 2 length-scales but its inputs have 3 columns"):
        dg.fit(X, X[:, 0], loss=dg.CRPS(), model=dg.Sparse(kernel=dg.RBF(lengthscale=[1.0, 1.0])))


@pytest.mark.parametrize("name", ["log", "crps", "square", "pinball"])
def test_plain_names_of_losses_are_the_direct_ones(name):
    assert losses.resolve(name) == losses.resolve(f"direct-{name}")
    assert losses.full_name(name) == f"direct-{name}"
    assert name in losses and name not in list(losses)


def test_a_mistyped_loss_gets_a_suggestion():
    with pytest.raises(DirectGPError, match="did you mean 'crps'"):
        losses.resolve("cprs")
    with pytest.raises(DirectGPError, match="did you mean 'alpha'"):
        losses.resolve("black-box-alpha:alhpa=0.3")
