"""Whether the components of a deep sigma point process have stayed apart."""

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
    """The effective number of components at every row, noise included.

    See `effective_components`; the noise is that of y in units of f, so that means nearer than
    an observation can tell count as one.
    """
    noise = np.asarray(gp.likelihood.latent_noise(jnp.asarray(q.mean)))[..., 0]
    return effective_components(q.mean[..., 0], q.variance[..., 0] + noise, q.log_weights)


def warn_of_collapse(gp: GP, data: Batch) -> None:
    """Warn where a mixture of several sigma points predicts one Gaussian at all training rows."""
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
