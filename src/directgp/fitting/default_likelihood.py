"""The default likelihood of each task, and the task of each likelihood."""

from directgp.errors import DirectGPError
from directgp.likelihoods import Likelihood, likelihoods
from directgp.tables.target import TargetEncoder, Task

_TASKS: dict[str, Task] = {"real": "regression", "counts": "counts", "classes": "classes"}
"""By the support of y."""


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
    """The task of a likelihood, which its `support` determines.

    Args:
        likelihood: a name in `likelihoods`.

    >>> task_of("poisson"), task_of("student-t"), task_of("bernoulli-logit")
    ('counts', 'regression', 'classes')
    """
    return _TASKS[likelihoods.lookup(likelihood).support]


def check_classes(likelihood: Likelihood, target: TargetEncoder) -> None:
    """Refuse a two-class likelihood for a target of more classes.

    Args:
        likelihood: given by the user.
        target: knows the number of classes.
    """
    count = len(target.labels)
    if count > 2 and likelihood.num_latents == 1:
        raise DirectGPError(
            f"target {target.name!r} has {count} classes; use --likelihood "
            f"{default_likelihood(target.task, count)}"
        )
