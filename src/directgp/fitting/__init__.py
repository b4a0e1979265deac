"""`fit` and its variants: from numeric arrays to a trained model in the user's units.

specs/                     declarations of the options: model specs and `Training`
flat_options.py            specs from flat, named options: estimators, command line, experiments
checks.py                  validation of single options
default_fit.py             what estimators fit by default: a stack, or one GP
default_depth.py           `fit` with the default number of layers
default_likelihood.py      the likelihood of a task
fit.py                     `fit`: one output, any model
fit_outputs.py             `fit_outputs`: several outputs, some of them missing
fit_stream.py              `fit_stream`: tables larger than memory
fit_collapsed.py           `fit_collapsed`: objectives whose q(u) is solved for
collapsed_path.py          its fits along a path of β
prepare.py                 the steps before training: check, hold out, scale, initialise
prepare_outputs.py         the same for whole rows of several outputs
workbench.py               padding, objective, validation and checkpoints of the stages of a fit
folds.py, starts.py        cross-validation of β; several initial values of a deep model
mixture_check.py           warning for mixtures with equal components
square_loss_variance.py    a predictive variance for models trained by square loss
stacking/                  mixtures of fitted models: `FittedStack` and its relatives
fitted.py                  the result for one GP, in the units of the user's data
fitted_exact.py            the result of exact inference for two classes
any_fitted.py              `Fitted`: the union of the results
hyperparameters.py         learned parameters in the units of the user's data
predict_stream.py          predictions for tables larger than memory
"""
