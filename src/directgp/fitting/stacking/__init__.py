"""Several models of one table, weighted by how well each predicts rows it has not seen.

trees            gradient-boosted trees, cross-fitted, kept as plain arrays
residual_shape   what the standardised errors of a model look like: a small mixture of Gaussians
log_scale        where errors are large and where small: an exact GP of their log squares
member           one model with its calibration: a mixture of Gaussians at every row
weights          the weights that make the out-of-fold loss of the mixture smallest
regression       `fit_stack`: which members a table gets, and how long they may take
fitted           `FittedStack`: what comes back
"""

from directgp.fitting.stacking.fitted import FittedStack
from directgp.fitting.stacking.regression import fit_stack

__all__ = ["FittedStack", "fit_stack"]
