"""A warning for collapsed mixtures, whose components are all the same."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.models import Model, SigmaPoints
from directgp.objective import Batch
from directgp.predictive.effective_components import effective_components
from directgp.training.evaluate import PredictedMarginals, condition, marginals
from directgp.training.loop import GP, TrainingWarning

_ROWS = 500
_ONE = 1.01


def components_at(gp: GP, q: PredictedMarginals) -> Float[np.ndarray, "N"]:
    """The effective number of mixture components at every row, noise included.

    See `effective_components`. The noise variance is in units of f, so that component means closer
    than the noise count as one.

    Args:
        gp: model and likelihood.
        q: the marginals of f at the rows.

    Returns:
        A number from 1 to S for each row.
    """
    noise = np.asarray(gp.likelihood.latent_noise(jnp.asarray(q.mean)))[..., 0]
    return effective_components(q.mean[..., 0], q.variance[..., 0] + noise, q.log_weights)


def warn_of_collapse(gp: GP, data: Batch) -> None:
    """Warn if a mixture of several sigma points is one Gaussian at all training rows.

    Args:
        gp: the trained model and likelihood.
        data: the training rows.
    """
    if gp.model.components == 1 or not has_sigma_points(gp.model):
        return
    counted = np.flatnonzero(np.asarray(data.weight) > 0)
    some = counted[np.linspace(0, len(counted) - 1, min(_ROWS, len(counted))).astype(int)]
    q = marginals(condition(gp.model, "float64"), np.asarray(data.X)[some])
    number = float(np.mean(components_at(gp, q)))
    if number < _ONE:
        warnings.warn(
            f"the {gp.model.components} components of this mixture have become one (effective "
            f"number {number:.3f}): it predicts a single Gaussian; if y has several branches try "
            "another seed, own_kernels=True or more num_sites, else deep='samples' or one layer",
            TrainingWarning,
            stacklevel=3,
        )


def has_sigma_points(model: Model) -> bool:
    """Whether layers are joined by sigma points."""

    def is_rule(part) -> bool:
        return isinstance(part, SigmaPoints)

    return any(is_rule(leaf) for leaf in jax.tree.leaves(model, is_leaf=is_rule))
