"""Stacking: mixtures of models with weights that minimise the out-of-fold loss.

trees            gradient-boosted trees, cross-fitted, kept as plain arrays
residual_shape   what the standardised errors of a model look like: a small mixture of Gaussians
log_scale        where errors are large and where small: an exact GP of their log squares
member           one model with its calibration: a mixture of Gaussians at every row
log_target       whether a positive target is learned as its logarithm
stacked_density  the members' Gaussians together
weights          the weights that make the out-of-fold loss of the mixture smallest
single_rows      rows of a whole weight as so many rows
second_thread    trees grow in a second thread while an exact GP is fitted
work             the rows that members are fitted to, and how long they may take
trained_steps    how long a sparse or deep GP is trained
regression       `fit_stack`: which members a table gets, and how long they may take
stack            `Stack`: what all stacks have
fitted           `FittedStack`: what comes back
logistic         ridge-penalised logistic regression, cross-fitted
class_trees      gradient-boosted trees of classes
class_member     one model of classes with its temperature
classification   `fit_class_stack`: the members for a table of classes
fitted_classes   `FittedClassStack`: what comes back then
log_linear       ridge-penalised Poisson regression, cross-fitted
count_member     one model of counts: a log-rate and the scatter of rates around it
rate_calibration level, slope, dispersion and scatter from counts that a model has not seen
counts           `fit_count_stack`: the members for a table of counts
fitted_counts    `FittedCountStack`: what comes back then
"""

from directgp.fitting.stacking.classification import fit_class_stack
from directgp.fitting.stacking.counts import fit_count_stack
from directgp.fitting.stacking.fitted import FittedStack
from directgp.fitting.stacking.fitted_classes import FittedClassStack
from directgp.fitting.stacking.fitted_counts import FittedCountStack
from directgp.fitting.stacking.regression import fit_stack
from directgp.fitting.stacking.stack import Stack

__all__ = [
    "FittedClassStack",
    "FittedCountStack",
    "FittedStack",
    "Stack",
    "fit_class_stack",
    "fit_count_stack",
    "fit_stack",
]
