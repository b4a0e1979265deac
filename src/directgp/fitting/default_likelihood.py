"""The default likelihood of each task, and the task of each likelihood."""

from functools import singledispatch

import numpy as np

from directgp.errors import DirectGPError
from directgp.likelihoods import Likelihood, likelihoods
from directgp.predictive import ClassProbabilities, CountMixture, Predictive
from directgp.tables.target import TargetEncoder, Task


def default_likelihood(task: str, num_classes: int) -> str:
    """The name of the likelihood that is used unless another is given.

    Args:
        task: "regression", "classes" or "counts".
        num_classes: the number of classes, if the task is "classes".

    Returns:
        A name in `likelihoods`.

    >>> default_likelihood("classes", 3)
    'categorical'
    """
    classes = "bernoulli" if num_classes == 2 else "categorical"
    return {"regression": "gaussian", "classes": classes, "counts": "negative-binomial"}[task]


def task_of(likelihood: str) -> Task:
    """The task of a likelihood, found from the type of its predictive distribution.

    >>> task_of("poisson"), task_of("student-t"), task_of("bernoulli-logit")
    ('counts', 'regression', 'classes')
    """
    built = likelihoods.create(likelihood).for_targets(np.array([0.0, 1.0]))
    latent = np.zeros((1, 1, built.num_latents))
    return _task_of(built.predictive(latent, np.ones_like(latent), np.zeros(1)))


def check_classes(likelihood: Likelihood, target: TargetEncoder) -> None:
    """Refuse a two-class likelihood for a target of more classes."""
    count = len(target.labels)
    if count > 2 and likelihood.num_latents == 1:
        raise DirectGPError(
            f"target {target.name!r} has {count} classes; use --likelihood "
            f"{default_likelihood(target.task, count)}"
        )


@singledispatch
def _task_of(predictive: Predictive) -> Task:
    return "regression"


@_task_of.register
def _(predictive: ClassProbabilities) -> Task:
    return "classes"


@_task_of.register
def _(predictive: CountMixture) -> Task:
    return "counts"
