"""Stacking: mixtures of models with weights that minimise the out-of-fold loss.

regression       `fit_stack`: stacks of regression models
classification   `fit_class_stack`: stacks of classifiers
counts           `fit_count_stack`: stacks of models of counts
stack            `Stack`: base class of the results
fitted           `FittedStack`, the result of `fit_stack`
fitted_classes   `FittedClassStack`, the result of `fit_class_stack`
fitted_counts    `FittedCountStack`, the result of `fit_count_stack`

work             the rows, the samples and the time budget of a stack
member           a regression model with its calibration: a mixture of Gaussians at every row
class_member     a classifier with its temperature
count_member     a model of the rate of counts, with the variation of rates around it
weights          weights that minimise the out-of-fold loss of the mixture
pooling          weights and a common factor of the spread, chosen together
stacked_density  the mixture of the Gaussians of all members

trees            cross-fitted gradient-boosted trees, stored as arrays
class_trees      cross-fitted gradient-boosted trees of classes
logistic         cross-fitted logistic regression with a ridge penalty
log_linear       cross-fitted Poisson regression with a ridge penalty
residual_shape   distribution of standardised errors: a small mixture of Gaussians
log_scale        input-dependent scale of errors: an exact GP of their log squares
log_target       the choice between y and log y as target
rate_calibration level, slope, dispersion and variation of rates from out-of-fold predictions
single_rows      rows of integer weight as repeated rows
trained_steps    number of steps of a sparse or deep GP
second_thread    a second thread for boosted trees; sklearn_warnings: suppressed warnings
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
